"""A step also uses gradients that a different loss left in its parameters.

`backward()` adds gradients to every parameter it can reach, not only to those of the optimizer that steps next. A
generator's loss goes through the discriminator and leaves gradients in it; a discriminator's loss that uses `fake`
without `detach()` leaves gradients in the generator. If nothing clears them before that network's own `backward()`, its
next step applies both, and the discriminator is pushed to help the generator. Nothing crashes, and the losses look like
those of any GAN.

An adversarial attack does the same: its `backward()` is meant for the input, but leaves gradients in every parameter of
the model. If the optimizer is cleared before the attack and not after it, the step applies gradients that were computed
to raise the loss.

Clear each optimizer right before its own backward, and `detach()` the output of the other network.
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
    message="{step} also uses gradients that another loss left there",
    sees=Sees.SOURCE | Sees.RUN,
    remedy="call {clearing} right before its own backward()",
    fix=Fix.UNSAFE,
    lacks=lambda state, event: Kind.CLEAR if event.kind is Kind.CONSUME and Mark.SPILLED in state.marks else None,
    led_by=(Kind.SPILL,),
    beside=((Kind.SPILL, "leaves gradients in these parameters too"),),
    bad=PLAIN + _NETWORKS + BAD,
    good=PLAIN + _NETWORKS + GOOD,
    explanation=__doc__ or "",
)
