"""What is hung into torch looks like torch's own, gets in nobody's way, and is taken out again."""

import inspect

import pytest
import torch
from torch import nn
from torch.autograd.variable import Variable
from torch.nn.utils import clip_grad
from torch.optim import Optimizer
from torch.optim import optimizer as torch_optimizer

import zerograd

PATCHED = {
    "zero_grad": (Optimizer, "zero_grad"),
    "a module's zero_grad": (nn.Module, "zero_grad"),
    "the clip": (clip_grad, "_clip_grads_with_norm_"),
    "the scaler's step": (torch.amp.GradScaler, "step"),
    "the swap": (torch.utils, "swap_tensors"),
}


@pytest.mark.parametrize(("owner", "name"), PATCHED.values(), ids=PATCHED)
def test_a_patch_has_the_signature_and_the_name_of_what_it_replaces(owner: object, name: str) -> None:
    real = getattr(owner, name)
    with zerograd.audit():
        patched = getattr(owner, name)
        assert patched is not real
        assert inspect.signature(patched) == inspect.signature(real)
        assert (patched.__name__, patched.__qualname__, patched.__module__, patched.__doc__) == (
            real.__name__,
            real.__qualname__,
            real.__module__,
            real.__doc__,
        )
    assert getattr(owner, name) is real


def test_nothing_is_left_behind() -> None:
    def hung() -> tuple[object, ...]:
        hooks = (torch_optimizer._global_optimizer_pre_hooks, torch_optimizer._global_optimizer_post_hooks)
        return (Variable._execution_engine, *(len(kind) for kind in hooks))

    before = hung()
    with zerograd.audit():
        assert hung() != before
    assert hung() == before


def test_two_audits_do_not_take_each_other_for_strangers() -> None:
    """`zerograd run` shares the process with an audit of the script's own: both are as sure as one alone would be."""
    from zerograd.run.audit import Audit

    weight = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    with Audit(on_finding="collect", shared=True) as outer, zerograd.audit(on_finding="collect") as inner:
        for _ in range(2):
            optimizer.zero_grad()
            weight.sum().backward()
            optimizer.step()
            optimizer.step()
    assert [(finding.code, finding.certainty.value, finding.times) for finding in outer.findings] == [
        ("ZG004", "certain", 2)
    ]
    assert outer.findings == inner.findings
