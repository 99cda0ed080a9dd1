import argparse
import torch
from torch import nn
from utils import finish


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=100)
    ap.add_argument("--clip", type=float, default=None)
    args = ap.parse_args()
    emb = nn.EmbeddingBag(100, 16, sparse=True)
    mlp = nn.Linear(16, 1)
    opts = [torch.optim.SparseAdam(list(emb.parameters())), torch.optim.Adam(mlp.parameters())]
    for _ in range(args.steps):
        ids = torch.randint(0, 100, (8, 5))
        loss = nn.functional.binary_cross_entropy_with_logits(mlp(emb(ids)), torch.rand(8, 1))
        loss.backward()
        finish(opts, list(mlp.parameters()), args.clip)


main()
