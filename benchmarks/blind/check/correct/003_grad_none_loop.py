import torch
import torch.nn.functional as F

thing = torch.nn.Linear(20, 5)
o1 = torch.optim.AdamW(thing.parameters(), lr=1e-3, weight_decay=0.01)
u = torch.utils.data.TensorDataset(torch.randn(512, 20), torch.randint(0, 5, (512,)))
rows = torch.utils.data.DataLoader(u, batch_size=32, shuffle=True)

for epoch in range(5):
    for x, y in rows:
        for param in thing.parameters():
            param.grad = None
        q = F.cross_entropy(thing(x), y)
        q.backward()
        o1.step()
    print(epoch, q.item())
