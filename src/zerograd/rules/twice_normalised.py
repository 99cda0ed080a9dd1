"""The loss is divided by the number of micro-batches, and the framework divides it again.

`accelerator.backward(loss)` itself divides by `gradient_accumulation_steps`. If you divide the loss as well, the
gradients are N times too small. With SGD that divides the learning rate by N; with Adam it is nearly invisible. Leave
the division to the framework.
"""

from collections.abc import Iterator

from zerograd.core.world import Window
from zerograd.rules.rule import Broken, Fix, Question, Rule, Sees, idiom
from zerograd.rules.scenery import ACCUMULATED

BAD = """\
from accelerate import Accelerator
accelerator = Accelerator(gradient_accumulation_steps=accumulation_steps)
for i, (x, y) in enumerate(loader):
    with accelerator.accumulate(model):
        loss = nn.functional.mse_loss(model(x), y) / accumulation_steps
        accelerator.backward(loss)  # error: [ZG105]
        optimizer.step()
        optimizer.zero_grad()
"""

GOOD = """\
from accelerate import Accelerator
accelerator = Accelerator(gradient_accumulation_steps=accumulation_steps)
for i, (x, y) in enumerate(loader):
    with accelerator.accumulate(model):
        loss = nn.functional.mse_loss(model(x), y)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
"""


def breaks(window: Window) -> Iterator[Broken]:
    """Every loss that the framework divides by what has divided it."""
    for loss in window.losses:
        if loss.divided_again and loss.deposit.site is not None:
            yield Broken(loss.deposit.site, True, {"deposit": loss.deposit.what, "size": loss.divided_again})


RULE = Rule(
    code="ZG105",
    name="twice-normalised",
    message="{deposit} divides by {size} a second time",
    sees=Sees.SOURCE,
    remedy="do not divide the loss by {size} yourself",
    fix=Fix.UNSAFE,
    lacks=idiom,
    asks=Question(Window, breaks),
    led_by=(),
    bad=ACCUMULATED + BAD,
    good=ACCUMULATED + GOOD,
    explanation=__doc__ or "",
)
