"""What stands around the loop in a rule's programs, so that each is a whole program that runs."""

PLAIN = """\
import torch
from torch import nn

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = [(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(4)]

"""

SCALED = (
    PLAIN
    + """\
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**4)

"""
)

TAILED = (
    PLAIN
    + """\
accumulation_steps = 3

"""
)

ACCUMULATED = (
    PLAIN
    + """\
accumulation_steps = 2

"""
)
