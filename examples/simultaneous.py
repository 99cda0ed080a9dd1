"""Simultaneous updates of two players: both gradients are taken at the same weights, and both move or neither."""

import torch
from torch import nn

from zerograd import Step, join

torch.manual_seed(0)
us, them = nn.Parameter(torch.tensor([1.0])), nn.Parameter(torch.tensor([1.0]))
step_us = Step(torch.optim.SGD([us], lr=0.1))
step_them = Step(torch.optim.SGD([them], lr=0.1))


def payoff() -> torch.Tensor:
    return (us * them + 0.5 * us.square() - 0.5 * them.square()).sum()


for turn in range(60):
    if turn == 30:  # one player's loss breaks: nobody moves
        before = us.item(), them.item()
        try:
            with join(step_us, step_them):
                step_us.backward(payoff())
                raise OSError("the other player has left")
        except OSError:
            assert before == (us.item(), them.item())
    with join(step_us, step_them) as both:
        for _ in both.micro_batches(range(2)):
            step_us.backward(payoff())
            step_them.backward(-payoff())

print(f"after {step_us.committed} turns: {us.item():.4f}, {them.item():.4f}")
assert max(abs(us.item()), abs(them.item())) < 0.1
