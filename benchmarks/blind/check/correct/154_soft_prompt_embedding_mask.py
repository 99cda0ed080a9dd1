import torch
from torch import nn

table = nn.Embedding(100, 12)
body = nn.GRU(12, 12, batch_first=True).requires_grad_(False)
out = nn.Linear(12, 100).requires_grad_(False)
new_ids = torch.tensor([98, 99])
frozen = table.weight.detach().clone()
keep = torch.ones(100, dtype=torch.bool)
keep[new_ids] = False
opt = torch.optim.AdamW(table.parameters(), lr=5e-3, weight_decay=0.0)

for step in range(200):
    t = torch.randint(0, 100, (4, 9))
    t[:, 0] = new_ids[step % 2]
    logits = out(body(table(t[:, :-1]))[0])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), t[:, 1:].flatten())
    loss.backward()
    table.weight.grad[keep] = 0
    opt.step()
    opt.zero_grad()
    with torch.no_grad():
        table.weight[keep] = frozen[keep]
