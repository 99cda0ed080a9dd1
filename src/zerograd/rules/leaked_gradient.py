"""An optimizer consumes gradients that another objective left in its parameters.

A loss that runs through a network on its way to another one deposits in both: the generator's loss leaves gradients in
the discriminator. They are harmless if they are cleared before the discriminator's own backward. If they are not, its
next step applies them together with its own, and learns to help the generator a little on every step.

Gradients that one step consumes for several losses on purpose are not this fault, nor are two optimizers that step on
one backward.
"""

from zerograd.rules.rule import Fix, Rule, Sees, idiom
from zerograd.rules.scenery import PLAIN

BAD = """\
critic = nn.Linear(1, 1)
critic_optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    critic(model(x)).mean().backward()
    optimizer.step()
    (critic(y) - critic(model(x).detach())).mean().backward()
    critic_optimizer.step()  # error: [ZG005]
    critic_optimizer.zero_grad()
"""

GOOD = """\
critic = nn.Linear(1, 1)
critic_optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    critic(model(x)).mean().backward()
    optimizer.step()
    critic_optimizer.zero_grad()
    (critic(y) - critic(model(x).detach())).mean().backward()
    critic_optimizer.step()
"""

RULE = Rule(
    code="ZG005",
    name="leaked-gradient",
    message="{step} consumes what {deposit} left for another optimizer, beside its own {own}",
    sees=Sees.RUN,
    remedy="clear the optimizer right before its own backward()",
    fix=Fix.UNSAFE,
    lacks=idiom,
    led_by=(),
    bad=PLAIN + BAD,
    good=PLAIN + GOOD,
    explanation=__doc__ or "",
)
