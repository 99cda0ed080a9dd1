import torch
import torch.nn as nn


class RNN(nn.Module):
    def __init__(self, i, h, o):
        super().__init__()
        self.h = h
        self.i2h, self.h2o = nn.Linear(i + h, h), nn.Linear(h, o)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, inp, hidden):
        hidden = torch.tanh(self.i2h(torch.cat((inp, hidden), 1)))
        return self.softmax(self.h2o(hidden)), hidden


ri = RNN(26, 64, 18)
eps_fn = nn.NLLLoss()
learning_rate = 0.005


def go(category, line):
    hidden = torch.zeros(1, ri.h)
    ri.zero_grad()
    for ch in line:
        got, hidden = ri(ch, hidden)
    gamma = eps_fn(got, category)
    gamma.backward()
    for p in ri.parameters():
        p.data.add_(p.grad.data, alpha=-learning_rate)
    return got, gamma.item()


current_loss = 0
for it in range(1, 2001):
    line = torch.eye(26)[torch.randint(0, 26, (8,))].unsqueeze(1)
    got, gamma = go(torch.randint(0, 18, (1,)), line)
    current_loss += gamma
    if it % 500 == 0:
        print(it, current_loss / 500)
        current_loss = 0
