import random

import torch
from torch import nn, optim


class EncoderRNN(nn.Module):
    def __init__(self, n, h):
        super().__init__()
        self.embedding, self.gru = nn.Embedding(n, h), nn.GRU(h, h)

    def forward(self, inp, hidden):
        return self.gru(self.embedding(inp).view(1, 1, -1), hidden)


class DecoderRNN(nn.Module):
    def __init__(self, h, n):
        super().__init__()
        self.embedding, self.gru, self.out = nn.Embedding(n, h), nn.GRU(h, h), nn.Linear(h, n)

    def forward(self, inp, hidden):
        o, hidden = self.gru(self.embedding(inp).view(1, 1, -1).relu(), hidden)
        return self.out(o[0]).log_softmax(1), hidden


def train(src, tgt, encoder, decoder, encoder_optimizer, decoder_optimizer, criterion):
    hidden = torch.zeros(1, 1, 32)
    encoder_optimizer.zero_grad()
    decoder_optimizer.zero_grad()
    loss = 0
    for token in src:
        _, hidden = encoder(token, hidden)
    inp = torch.tensor([0])
    forcing = random.random() < 0.5
    for token in tgt:
        out, hidden = decoder(inp, hidden)
        loss += criterion(out, token.view(1))
        inp = token if forcing else out.topk(1)[1].squeeze().detach()
    loss.backward()
    encoder_optimizer.step()
    decoder_optimizer.step()
    return loss.item() / len(tgt)


def train_iters(n):
    enc, dec = EncoderRNN(50, 32), DecoderRNN(32, 60)
    eo, do = optim.SGD(enc.parameters(), 0.01), optim.SGD(dec.parameters(), 0.01)
    total = 0
    for i in range(1, n + 1):
        total += train(torch.randint(0, 50, (7,)), torch.randint(0, 60, (6,)), enc, dec, eo, do, nn.NLLLoss())
        if i % 100 == 0:
            print(i, total / 100)
            total = 0


train_iters(1000)
