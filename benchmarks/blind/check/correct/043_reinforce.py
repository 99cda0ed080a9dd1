import gymnasium as gym
import torch
from torch import nn, optim
from torch.distributions import Categorical

env = gym.make("CartPole-v1")
pi = nn.Sequential(nn.Linear(4, 128), nn.Dropout(0.6), nn.ReLU(), nn.Linear(128, 2), nn.Softmax(-1))
opt = optim.Adam(pi.parameters(), lr=1e-2)


def finish_episode(log_probs, rewards, gamma=0.99):
    R, returns = 0.0, []
    for r in reversed(rewards):
        R = r + gamma * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-9)
    policy_loss = [-lp * ret for lp, ret in zip(log_probs, returns)]
    opt.zero_grad()
    torch.stack(policy_loss).sum().backward()
    opt.step()


for episode in range(1000):
    obs, _ = env.reset()
    log_probs, rewards, done = [], [], False
    while not done:
        d = Categorical(pi(torch.as_tensor(obs, dtype=torch.float32)))
        action = d.sample()
        log_probs.append(d.log_prob(action))
        obs, reward, term, trunc, _ = env.step(action.item())
        rewards.append(reward)
        done = term or trunc
    finish_episode(log_probs, rewards)
