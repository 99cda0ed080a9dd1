import torch
from torch import nn


class CharLM(nn.Module):
    def __init__(self, vocab=50, hidden=64):
        super().__init__()
        self.emb = nn.Embedding(vocab, hidden)
        self.rnn = nn.LSTM(hidden, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, x, state=None):
        h, state = self.rnn(self.emb(x), state)
        return self.out(h), state


def repackage(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage(v) for v in h)


lm = CharLM()
opt = torch.optim.Adam(lm.parameters(), lr=2e-3)
text = torch.randint(0, 50, (4, 1001))
for epoch in range(3):
    state = None
    for start in range(0, 1000, 50):
        if state is not None:
            state = repackage(state)
        logits, state = lm(text[:, start:start + 50], state)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), text[:, start + 1:start + 51].flatten())
        lm.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(lm.parameters(), 0.25)
        opt.step()
