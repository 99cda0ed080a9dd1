import torch
from torch import nn


class Translator:
    def __init__(self, v, h):
        self.encoder = nn.GRU(h, h, batch_first=True)
        self.emb = nn.Embedding(v, h)
        self.decoder = nn.Linear(h, v)
        self.encoder_optimizer = torch.optim.Adam([*self.encoder.parameters(), *self.emb.parameters()])
        self.decoder_optimizer = torch.optim.Adam(self.decoder.parameters())

    def train_pair(self, src):
        self.encoder_optimizer.zero_grad()
        out, _ = self.encoder(self.emb(src[:, :-1]))
        loss = nn.functional.cross_entropy(self.decoder(out).flatten(0, 1), src[:, 1:].flatten())
        loss.backward()
        self.encoder_optimizer.step()
        self.decoder_optimizer.step()  # FAULT: ZG006
        return loss.item()


t = Translator(40, 16)
for _ in range(100):
    t.train_pair(torch.randint(0, 40, (4, 9)))
