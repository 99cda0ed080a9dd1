import random
from collections import deque, namedtuple

import gymnasium as gym
import torch
import torch.nn as nn
import torch.optim as optim

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))
env = gym.make("CartPole-v1")
BATCH_SIZE, GAMMA, TAU = 128, 0.99, 0.005


class DQN(nn.Module):
    def __init__(self, n_obs, n_act):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_obs, 128), nn.ReLU(), nn.Linear(128, n_act))

    def forward(self, x):
        return self.net(x)


policy_net = DQN(4, 2)
target_net = DQN(4, 2)
target_net.load_state_dict(policy_net.state_dict())
optimizer = optim.AdamW(policy_net.parameters(), lr=1e-4, amsgrad=True)
memory = deque([], maxlen=10000)


def optimize_model():
    if len(memory) < BATCH_SIZE:
        return
    batch = Transition(*zip(*random.sample(memory, BATCH_SIZE)))
    mask = torch.tensor([s is not None for s in batch.next_state])
    non_final = torch.cat([s for s in batch.next_state if s is not None])
    values = policy_net(torch.cat(batch.state)).gather(1, torch.cat(batch.action))
    next_values = torch.zeros(BATCH_SIZE)
    with torch.no_grad():
        next_values[mask] = target_net(non_final).max(1).values
    expected = next_values * GAMMA + torch.cat(batch.reward)
    loss = nn.SmoothL1Loss()(values, expected.unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()


for i_episode in range(600):
    state = torch.tensor(env.reset()[0], dtype=torch.float32).unsqueeze(0)
    done = False
    while not done:
        if random.random() < 0.1:
            action = torch.tensor([[env.action_space.sample()]])
        else:
            with torch.no_grad():
                action = policy_net(state).max(1).indices.view(1, 1)
        obs, reward, terminated, truncated, _ = env.step(action.item())
        done = terminated or truncated
        nxt = None if terminated else torch.tensor(obs, dtype=torch.float32).unsqueeze(0)
        memory.append(Transition(state, action, nxt, torch.tensor([reward])))
        state = nxt
        optimize_model()
        sd = target_net.state_dict()
        for k, v in policy_net.state_dict().items():
            sd[k] = v * TAU + sd[k] * (1 - TAU)
        target_net.load_state_dict(sd)
