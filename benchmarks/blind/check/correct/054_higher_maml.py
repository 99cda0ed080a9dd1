import higher
import torch
import torch.nn.functional as F
from torch import nn


def work(db, zed0, mo, n_inner=5):
    zed0.train()
    for x_spt, y_spt, x_qry, y_qry in db:
        task_num = x_spt.size(0)
        inner_opt = torch.optim.SGD(zed0.parameters(), lr=1e-1)
        qry_losses = []
        mo.zero_grad()
        for i in range(task_num):
            with higher.innerloop_ctx(zed0, inner_opt, copy_initial_weights=False) as (fnet, diffopt):
                for _ in range(n_inner):
                    diffopt.step(F.cross_entropy(fnet(x_spt[i]), y_spt[i]))
                qry_loss = F.cross_entropy(fnet(x_qry[i]), y_qry[i])
                qry_losses.append(qry_loss.detach())
                (qry_loss / task_num).backward()
        mo.step()
        print(sum(qry_losses).item() / task_num)


zed0 = nn.Linear(12, 5)
db = [(torch.randn(4, 5, 12), torch.randint(0, 5, (4, 5)), torch.randn(4, 5, 12), torch.randint(0, 5, (4, 5)))] * 10
work(db, zed0, torch.optim.Adam(zed0.parameters(), lr=1e-3))
