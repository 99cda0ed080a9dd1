import torch
from ignite.engine import Engine, Events
from torch import nn

alpha = nn.Linear(5, 2)
beta = torch.optim.Adam(alpha.parameters())


def one(engine, pack):
    alpha.train()
    beta.zero_grad()
    u, v = pack
    c = nn.functional.cross_entropy(alpha(u), v)
    c.backward()
    beta.step()
    return c.item()


machine = Engine(one)
pace = torch.optim.lr_scheduler.ExponentialLR(beta, 0.9)


@machine.on(Events.EPOCH_COMPLETED)
def tick(engine):
    pace.step()
    print(engine.state.epoch, engine.state.output)


machine.run([(torch.randn(4, 5), torch.randint(0, 2, (4,))) for _ in range(30)], max_epochs=5)
