import torch
import torch.nn.functional as F
from torch import nn

gradient_accumulation_steps = 5
vocab, block = 65, 32


def get_batch(split):
    ix = torch.randint(0, vocab, (12, block + 1))
    return ix[:, :-1], ix[:, 1:]


class Tiny(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(vocab, 48)
        self.lm_head = nn.Linear(48, vocab, bias=False)

    def forward(self, idx, targets=None):
        logits = self.lm_head(self.wte(idx))
        gamma = None
        if targets is not None:
            gamma = F.cross_entropy(logits.view(-1, vocab), targets.reshape(-1))
        return logits, gamma


alpha = Tiny()
beta = torch.optim.AdamW(alpha.parameters(), lr=6e-4, betas=(0.9, 0.95))
kappa = torch.cuda.amp.GradScaler(enabled=torch.cuda.is_available())
grad_clip, max_iters, iter_num = 1.0, 1000, 0
X, Y = get_batch("train")
while True:
    for micro_step in range(gradient_accumulation_steps):
        logits, gamma = alpha(X, Y)
        gamma = gamma / gradient_accumulation_steps
        X, Y = get_batch("train")
        kappa.scale(gamma).backward()
    if grad_clip != 0.0:
        kappa.unscale_(beta)
        torch.nn.utils.clip_grad_norm_(alpha.parameters(), grad_clip)
    kappa.step(beta)
    kappa.update()
    beta.zero_grad(set_to_none=True)
    if iter_num % 100 == 0:
        print(iter_num, gamma.item() * gradient_accumulation_steps)
    iter_num += 1
    if iter_num > max_iters:
        break
