import torch
from torch import nn


def finish(opt, params, limit):
    opt.step()
    nn.utils.clip_grad_value_(params, limit)  # FAULT: ZG302
    opt.zero_grad()


rnn = nn.LSTM(3, 8)
opt = torch.optim.Adam(rnn.parameters())
for _ in range(100):
    out, _ = rnn(torch.randn(12, 4, 3))
    out.pow(2).mean().backward()
    finish(opt, list(rnn.parameters()), 0.5)
