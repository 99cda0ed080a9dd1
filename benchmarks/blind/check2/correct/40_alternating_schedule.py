import itertools
import torch
from torch import nn

encoder = nn.Linear(10, 4)
decoders = nn.ModuleList(nn.Linear(4, 10) for _ in range(3))
opts = [torch.optim.Adam(itertools.chain(encoder.parameters(), d.parameters()), lr=1e-3) for d in decoders]
turn = itertools.cycle(zip(decoders, opts))
losses = []
for x in torch.randn(120, 8, 10):
    decoder, opt = next(turn)
    code = encoder(x)
    loss = nn.functional.mse_loss(decoder(code), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
print(sum(losses[-10:]) / 10)
