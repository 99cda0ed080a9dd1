import torch
from torch import nn

model = nn.GRU(8, 8, batch_first=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
for seq in [torch.randn(4, 20, 8) for _ in range(50)]:
    optimizer.zero_grad()
    out, _ = model(seq[:, :-1])
    loss = nn.functional.mse_loss(out, seq[:, 1:])
    loss.backward()
    optimizer.step()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.25)  # FAULT: ZG302
