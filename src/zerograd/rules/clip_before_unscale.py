"""Gradients are clipped while the loss scale is still multiplied into them.

With a `GradScaler` the gradients in `.grad` are the true ones times a large factor (65,536 at the start) until
`scaler.unscale_(optimizer)` or `scaler.step(optimizer)` divides by it. Clipping before that compares the scaled norm
with a limit meant for the true one. Nearly every gradient is cut down to almost nothing, by a factor that changes
whenever the scale does. Training goes on, slowly.

With apex the scale is removed at the end of the `with amp.scale_loss(loss, optimizer)` block: clip after it, not
inside.
"""

from zerograd.core.events import Event, Kind
from zerograd.core.machine import Mark, Scale, State
from zerograd.rules.rule import Fix, Rule, Sees
from zerograd.rules.scenery import SCALED

BAD = """\
for x, y in loader:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # error: [ZG201]
    scaler.step(optimizer)
    scaler.update()
"""

GOOD = """\
for x, y in loader:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
"""


def lacks(state: State, event: Event) -> Kind | None:
    clipped_scaled = event.kind is Kind.CLIP and state.scale is Scale.SCALED and not event.scaled
    # The deposit is somewhere else, but a scaler that steps on it will find it scaled.
    stepped_blindly = event.kind is Kind.CONSUME and event.scaled and Mark.BLIND in state.marks
    return Kind.UNSCALE if clipped_scaled or stepped_blindly else None


RULE = Rule(
    code="ZG201",
    name="clip-before-unscale",
    message="{clip} clips gradients before they are unscaled",
    sees=Sees.SOURCE | Sees.RUN,
    remedy="call scaler.unscale_(optimizer) before clipping",
    fix=Fix.UNSAFE,
    lacks=lacks,
    at=Kind.CLIP,
    led_by=(Kind.DEPOSIT,),
    beside=((Kind.DEPOSIT, "adds gradients multiplied by the loss scale"),),
    bad=SCALED + BAD,
    good=SCALED + GOOD,
    explanation=__doc__ or "",
)
