"""A training program in the tests' own words, and what the abstract run says of it."""

from zerograd.source.check import check_text

MADE = """\
import torch
from torch import nn
from torch.nn import functional as F

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = [(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(4)]
"""


def found(body: str, *, made: str = MADE) -> list[tuple[str, str]]:
    """(code, certainty) of each finding, by line."""
    return [(one.code, one.certainty.value) for one in check_text(made + body, "program.py")]


def certain(body: str, *, made: str = MADE) -> list[str]:
    return [code for code, certainty in found(body, made=made) if certainty == "certain"]
