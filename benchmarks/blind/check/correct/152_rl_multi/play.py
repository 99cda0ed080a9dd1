import torch

from agent import Agent
from memory import Replay

agent, mem = Agent(4, 2), Replay(5000)
s = torch.randn(4)
for t in range(2000):
    a = agent.act(s) if torch.rand(()) > 0.1 else torch.randint(0, 2, ())
    s2, r = torch.randn(4), torch.randn(())
    mem.push((s, a, r, s2, torch.zeros(())))
    s = s2
    if len(mem) >= 64 and t % 4 == 0:
        agent.learn(mem.sample(64))
