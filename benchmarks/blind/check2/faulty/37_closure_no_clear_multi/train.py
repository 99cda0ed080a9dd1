import torch
from torch import nn
from engine import Engine


def main():
    model = nn.Linear(4, 1)
    engine = Engine(nn.MSELoss(), model, torch.optim.SGD(model.parameters(), lr=0.01))
    for epoch in range(3):
        for _ in range(40):
            engine.update(torch.randn(8, 4), torch.randn(8, 1))


if __name__ == "__main__":
    main()
