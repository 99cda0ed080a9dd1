"""Which texts are worth parsing: those that may consume, clear or clip what a backward() leaves behind."""

import pytest

from zerograd.source.relevance import may_train

_TRAINS = {
    "a step": "loss.backward()\noptimizer.step()",
    "a step of a framework": "def training_step(self, batch):\n    self.manual_backward(loss)",
    "an optimizer that someone else steps": "loss.backward()\nupdate(self.optim)",
    "a clear": "optimizer.zero_grad()",
    "an update by hand": "loss.backward()\nw.data -= rate * w.grad",
    "an update by hand, to a new name": "loss.backward()\nw = w - w.grad * rate",
    "an attack": "loss.backward()\ng = x.grad\nx = x + size * g.sign()",
    "a clear by hand": "loss.backward()\nw.grad.zero_()",
    "a gradient that is taken away": "loss.backward()\nw.grad = None",
    "a graph that is kept": "loss.backward(retain_graph=True)",
}
_DOES_NOT = {
    "an operator": "class Op(Function):\n    def backward(ctx, grad):\n        return grad * 2",
    "a gradient that is asked for": "(g,) = torch.autograd.grad(y, x)",
    "an environment that steps": "state, reward = environment.step(action)",
}


@pytest.mark.parametrize("text", _TRAINS.values(), ids=_TRAINS)
def test_what_may_train_is_read(text: str) -> None:
    assert may_train(f"import torch\n{text}\n")


@pytest.mark.parametrize("text", _DOES_NOT.values(), ids=_DOES_NOT)
def test_what_updates_nothing_is_not(text: str) -> None:
    assert not may_train(f"import torch\n{text}\n")
