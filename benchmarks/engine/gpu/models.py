"""What is trained: models that people train every day, most of them too small to keep a GPU busy."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

CUDA = "cuda"
Batch = tuple[Tensor, Tensor]


class Layer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention, self.join = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        rows, length, width = x.shape
        parts = self.attention(self.before(x)).view(rows, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.join(mixed.transpose(1, 2).reshape(rows, length, width))
        return x + self.down(functional.gelu(self.up(self.between(x))))


class Transformer(nn.Module):
    """A decoder with learned positions, its embedding tied to its head."""

    def __init__(self, layers: int, width: int, heads: int, words: int, length: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        nn.init.normal_(self.words.weight, std=0.02)
        nn.init.normal_(self.places.weight, std=0.02)
        self.layers, self.last = nn.ModuleList(Layer(width, heads) for _ in range(layers)), nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.words(x) + self.places(torch.arange(x.shape[1], device=x.device))
        for layer in self.layers:
            hidden = layer(hidden)
        return functional.linear(self.last(hidden), self.words.weight)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.cells = nn.Embedding(1000, 256), nn.LSTM(256, 256, 2, batch_first=True)
        self.out = nn.Linear(256, 1000)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.cells(self.words(x))[0])


class Residual(nn.Module):
    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.one, self.two = _conv(inside, outside, stride), _conv(outside, outside, 1)
        self.first, self.second = nn.BatchNorm2d(outside), nn.BatchNorm2d(outside)
        same = stride == 1 and inside == outside
        past = nn.Conv2d(inside, outside, 1, stride, bias=False)
        self.past = nn.Identity() if same else nn.Sequential(past, nn.BatchNorm2d(outside))

    def forward(self, x: Tensor) -> Tensor:
        inner = self.second(self.two(functional.relu(self.first(self.one(x)))))
        return functional.relu(inner + self.past(x))


def _conv(inside: int, outside: int, stride: int) -> nn.Conv2d:
    return nn.Conv2d(inside, outside, 3, stride, 1, bias=False)


def resnet18() -> nn.Module:
    """For pictures of 32 x 32."""
    sizes = [(64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1), (256, 512, 2)]
    blocks = [Residual(*size) for size in [*sizes, (512, 512, 1)]]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10)]
    return nn.Sequential(_conv(3, 64, 1), nn.BatchNorm2d(64), nn.ReLU(), *blocks, *head)


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 16))


@dataclass(frozen=True)
class Task:
    name: str
    make: Callable[[], nn.Module]
    batch: Callable[[torch.Generator], Batch]
    micro_batches: int = 1
    steps: int = 40  # timed in one turn
    owned: bool = False  # also with the libraries that own the loop
    apart: bool = False  # too large for all ways to lie in memory at once

    def model(self) -> nn.Module:
        torch.manual_seed(0)
        return self.make().to(CUDA)

    def data(self, count: int = 8) -> list[list[Batch]]:
        generator = torch.Generator(CUDA).manual_seed(1)
        batches = [self.batch(generator) for _ in range(count)]
        return [[batches[(place + i) % count] for i in range(self.micro_batches)] for place in range(count)]


def loss(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    return functional.cross_entropy(model(x).flatten(0, -2).float(), y.flatten())


def _words(words: int, rows: int, length: int) -> Callable[[torch.Generator], Batch]:
    def batch(generator: torch.Generator) -> Batch:
        text = torch.randint(words, (rows, length + 1), device=CUDA, generator=generator)
        return text[:, :-1].contiguous(), text[:, 1:].contiguous()

    return batch


def _points(*shape: int, classes: int) -> Callable[[torch.Generator], Batch]:
    def batch(generator: torch.Generator) -> Batch:
        x = torch.randn(*shape, device=CUDA, generator=generator)
        return x, torch.randint(classes, shape[:1], device=CUDA, generator=generator)

    return batch


def _small() -> nn.Module:
    return Transformer(6, 384, 6, 65, 256)


TASKS = {
    task.name: task
    for task in [
        Task("transformer, 6 layers, 16 x 256", _small, _words(65, 16, 256), owned=True),
        Task("the same, 4 micro-batches", _small, _words(65, 16, 256), micro_batches=4, steps=15, owned=True),
        Task("MLP, 64-256-256-16, batch 256", mlp, _points(256, 64, classes=16), steps=200),
        Task("LSTM, 2 x 256, 32 x 64", Recurrent, _words(1000, 32, 64), steps=60),
        Task("ResNet-18, 32 x 32, batch 64", resnet18, _points(64, 3, 32, 32, classes=10), steps=40),
        Task(
            "transformer, 124M parameters, 4 x 16 x 1024",
            lambda: Transformer(12, 768, 12, 50304, 1024),
            _words(50304, 16, 1024),
            micro_batches=4,
            steps=3,
            apart=True,
        ),
    ]
}
