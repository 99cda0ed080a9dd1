"""A training loop as people write it: one text that is executed, read by `check`, and watched by `audit`."""

import linecache
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from zerograd.core.findings import Finding
from zerograd.run.audit import Audit
from zerograd.source.check import check_text

Names = dict[str, Any]
Scene = Callable[[], Names]  # what a loop finds when it begins, made anew for each run: its model, its data, ...


class Played(NamedTuple):
    """What came of running a loop."""

    names: Names  # all its variables, as it left them
    error: Exception | None = None  # what ended it
    findings: tuple[Finding, ...] = ()  # of the audit it ran under, if any

    @property
    def weights(self) -> Tensor:
        return weights(self.names["model"])


class Loop(NamedTuple):
    """A program with blanks: the names that it uses and does not make are the scene's."""

    name: str
    text: str

    def run(self, scene: Names) -> Names:
        """Execute the text on this scene; its variables, when it has ended."""
        path = f"{self.name.replace(' ', '_')}.py"
        linecache.cache[path] = (len(self.text), None, self.text.splitlines(keepends=True), path)
        names = {"__name__": "__main__", **scene}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some of these loops are wrong on purpose, and torch says so
            exec(compile(self.text, path, "exec"), names)
        return names

    def play(self, scene: Names, *, audited: bool = False) -> Played:
        """Run it to its end, whatever that is."""
        audit = Audit(on_finding="collect", mode="full")
        error = None
        names = scene
        try:
            if audited:
                with audit:
                    names = self.run(scene)
            else:
                names = self.run(scene)
        except Exception as raised:
            error = raised
        return Played(names, error, tuple(audit.findings))

    def checked(self) -> list[Finding]:
        return check_text(self.text, f"{self.name.replace(' ', '_')}.py")


def weights(model: torch.nn.Module) -> Tensor:
    """All weights as one vector, to be compared bit for bit."""
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).clone()


def gradients(model: torch.nn.Module) -> Tensor:
    """All gradients as one vector; zeros where there is none."""
    return torch.cat(
        [(torch.zeros_like(p) if p.grad is None else p.grad.detach()).flatten() for p in model.parameters()]
    ).clone()


def differing(one: Tensor, other: Tensor) -> int:
    """How many numbers are not the same, bit for bit."""
    return int((one != other).sum())


def distance(one: Tensor, other: Tensor) -> float:
    """How far one vector is from another, as a share of the other's length."""
    return float((one - other).norm() / other.norm())
