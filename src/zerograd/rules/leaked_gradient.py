"""An optimizer consumes gradients that another objective left there.

`backward()` fills every parameter it can reach, not only those of the optimizer that steps next. A generator's loss
runs through the discriminator and leaves gradients in it; a discriminator's loss that sees `fake` without `detach()`
leaves gradients in the generator. If nothing clears them before that network's own `backward()`, its next step adds
both: the discriminator is pushed to help the generator. Nothing crashes, and the losses look as in any GAN.

So does an attack: its `backward()` is meant for the input, and leaves gradients in every parameter of the model. If the
optimizer was cleared before the attack and not behind it, the step adds what was meant to raise the loss.

Clear each optimizer right before the backward that is meant for it, and `detach()` what the other network made.
"""

from zerograd.core.events import Kind
from zerograd.core.machine import Mark
from zerograd.rules.rule import Fix, Rule, Sees
from zerograd.rules.scenery import PLAIN

_NETWORKS = """\
G, D = nn.Linear(2, 4), nn.Linear(4, 1)
g_optimizer = torch.optim.SGD(G.parameters(), lr=0.1)
d_optimizer = torch.optim.SGD(D.parameters(), lr=0.1)
"""

BAD = """\
for x, _ in loader:
    g_optimizer.zero_grad()
    d_optimizer.zero_grad()
    fake = G(torch.randn(8, 2))
    g_loss = -D(fake).mean()
    g_loss.backward()
    g_optimizer.step()
    d_loss = D(fake.detach()).mean() - D(x).mean()
    d_loss.backward()
    d_optimizer.step()  # error: [ZG005]
"""

GOOD = """\
for x, _ in loader:
    g_optimizer.zero_grad()
    fake = G(torch.randn(8, 2))
    g_loss = -D(fake).mean()
    g_loss.backward()
    g_optimizer.step()
    d_loss = D(fake.detach()).mean() - D(x).mean()
    d_optimizer.zero_grad()
    d_loss.backward()
    d_optimizer.step()
"""

RULE = Rule(
    code="ZG005",
    name="leaked-gradient",
    message="{step} consumes another objective's gradients: {spill} left them there, and nothing cleared them",
    sees=Sees.SOURCE | Sees.RUN,
    remedy="clear the optimizer right before its own backward(), or detach() what the other network made",
    fix=Fix.UNSAFE,
    lacks=lambda state, event: Kind.CLEAR if event.kind is Kind.CONSUME and Mark.SPILLED in state.marks else None,
    led_by=(Kind.SPILL,),
    bad=PLAIN + _NETWORKS + BAD,
    good=PLAIN + _NETWORKS + GOOD,
    explanation=__doc__ or "",
    in_run="{step} consumes what {deposit} left for another optimizer, beside its own {own}",
)
