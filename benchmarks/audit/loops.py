"""The training loops whose steps are timed: a small GPT, as many blocks deep as the number of tensors asks for."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

PER_BLOCK = 12  # parameter tensors in one block: 2 norms, 4 linear layers, each with weight and bias


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        parts = self.qkv(self.before(x)).view(batch, length, 3, self.heads, width // self.heads).unbind(2)
        q, k, v = (part.transpose(1, 2) for part in parts)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(batch, length, width)
        x = x + self.out(mixed)
        return x + self.down(F.gelu(self.up(self.between(x))))


class GPT(nn.Module):
    def __init__(self, *, blocks: int, width: int, heads: int, words: int, length: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(blocks))
        self.after = nn.LayerNorm(width)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.words(tokens) + self.places.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return F.linear(self.after(x), self.words.weight)


class Loop:
    """One step is: clear, forward, mean cross-entropy, backward, clip to norm 1, AdamW."""

    def __init__(
        self, *, tensors: int, width: int, batch: int, length: int, words: int = 256, device: str = "cpu",
        autocast: bool = False,
    ) -> None:  # fmt: skip
        torch.manual_seed(0)
        blocks = max(1, round((tensors - 4) / PER_BLOCK))
        self.model = GPT(blocks=blocks, width=width, heads=max(1, width // 64), words=words, length=length).to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        self.tokens = torch.randint(words, (batch, length + 1), device=device)
        self.device, self.autocast, self.words = device, autocast, words
        self.tensors = len(list(self.model.parameters()))

    def step(self) -> None:
        self.optimizer.zero_grad()
        with torch.autocast(self.device, dtype=torch.bfloat16, enabled=self.autocast):
            scores = self.model(self.tokens[:, :-1])
            loss = F.cross_entropy(scores.reshape(-1, self.words), self.tokens[:, 1:].reshape(-1))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()

    def weights(self) -> Tensor:
        return torch.cat([parameter.detach().flatten() for parameter in self.model.parameters()])
