"""Loops the claims speak about: text that is executed, read by `check`, and watched by `audit`."""

from collections.abc import Callable
from typing import Any, NamedTuple

from zerograd.core.findings import Certainty, Finding
from zerograd.run.audit import Audit
from zerograd.source.check import check_text


class Loop(NamedTuple):
    """A training loop as people write it. Its text defines `train`."""

    name: str
    text: str

    def train(self, *args: Any) -> Any:
        """Execute the loop."""
        namespace: dict[str, Any] = {}
        exec(compile(self.text, f"<{self.name}>", "exec"), namespace)
        train: Callable[..., Any] = namespace["train"]
        return train(*args)

    def checked(self) -> tuple[str, ...]:
        """The codes that `check` is certain of."""
        return _codes(check_text(self.text, f"<{self.name}>"))

    def audited(self, *args: Any) -> tuple[str, ...]:
        """The codes that `audit` is certain of, in a run of its own."""
        audit = Audit(on_finding="collect")
        with audit:
            self.train(*args)
        return _codes(audit.findings)


def _codes(findings: list[Finding]) -> tuple[str, ...]:
    return tuple(sorted({finding.code for finding in findings if finding.certainty is Certainty.CERTAIN}))


CLEAR_AT_TOP = Loop(
    "clear at the top",
    """\
import torch

def train(model, optimizer, batches, loss_fn):
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
""",
)

CLEAR_AFTER_FORWARD = Loop(
    "clear after the forward pass",
    """\
import torch

def train(model, optimizer, batches, loss_fn):
    losses = []
    for x, y in batches:
        loss = loss_fn(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
""",
)

NEVER_CLEARED = Loop(
    "never cleared",
    """\
import torch

def train(model, optimizer, batches, loss_fn):
    losses = []
    for x, y in batches:
        loss = loss_fn(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
""",
)
