"""LBFGS: the optimizer asks for the loss again and again. No closure to write, nothing to clear in it."""

import torch
from torch import nn

from zerograd import Step

torch.manual_seed(0)
x = torch.linspace(-3, 3, 200, dtype=torch.float64).unsqueeze(1)
y = x.sin() * x.cos()
model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1)).double()
step = Step(torch.optim.LBFGS(model.parameters(), lr=1.0, max_iter=20, line_search_fn="strong_wolfe"))

losses = [step.minimize(lambda s: s.backward(nn.functional.mse_loss(model(x), y))) for _ in range(20)]

# Whatever fails between two evaluations takes the whole step back, the optimizer's memory included.
before = model[0].weight.clone()
evaluations = []


def interrupted(s: Step) -> None:
    evaluations.append(1)
    if len(evaluations) == 3:
        raise OSError("the file server went away")
    s.backward(nn.functional.mse_loss(model(x), y))


try:
    step.minimize(interrupted)
except OSError as error:
    print(f"{error}: {step.outcome.kind.value}")
assert torch.equal(before, model[0].weight)
print(f"loss {losses[0]:.4f} -> {losses[-1]:.6f} in {step.committed} steps")
assert losses[-1] < 1e-3
