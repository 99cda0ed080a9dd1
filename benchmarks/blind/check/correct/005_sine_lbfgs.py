import numpy as np
import torch
import torch.nn as nn


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm1 = nn.LSTMCell(1, 51)
        self.lstm2 = nn.LSTMCell(51, 51)
        self.linear = nn.Linear(51, 1)

    def forward(self, input, future=0):
        outputs = []
        h1 = c1 = torch.zeros(input.size(0), 51, dtype=torch.double)
        h2 = c2 = torch.zeros(input.size(0), 51, dtype=torch.double)
        for input_t in input.split(1, dim=1):
            h1, c1 = self.lstm1(input_t, (h1, c1))
            h2, c2 = self.lstm2(h1, (h2, c2))
            got = self.linear(h2)
            outputs.append(got)
        for _ in range(future):
            h1, c1 = self.lstm1(got, (h1, c1))
            h2, c2 = self.lstm2(h1, (h2, c2))
            got = self.linear(h2)
            outputs.append(got)
        return torch.cat(outputs, dim=1)


if __name__ == "__main__":
    np.random.seed(0)
    stuff1 = torch.from_numpy(np.sin(np.arange(100)[:, None] / 20 + np.arange(200)[None] / 20.0))
    inp, goal = stuff1[3:, :-1], stuff1[3:, 1:]
    test_inp, test_target = stuff1[:3, :-1], stuff1[:3, 1:]
    seq = Sequence().double()
    eps_fn = nn.MSELoss()
    beta = torch.optim.LBFGS(seq.parameters(), lr=0.8)
    for i in range(15):
        print("STEP", i)

        def closure():
            beta.zero_grad()
            out = seq(inp)
            gamma = eps_fn(out, goal)
            print("loss:", gamma.item())
            gamma.backward()
            return gamma

        beta.step(closure)
        with torch.no_grad():
            pred = seq(test_inp, future=100)
            print("test loss:", eps_fn(pred[:, :-100], test_target).item())
