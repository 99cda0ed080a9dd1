"""Real work: long signals in which what comes next depends on a mark far back, and an LSTM that learns to remember."""

from typing import Any

import torch
from torch import Tensor, nn

SYMBOLS = 6  # 0 to 3 are noise, 4 and 5 are marks


def signals(n: int, length: int, *, seed: int) -> tuple[Tensor, Tensor]:
    """Symbols, and for each place which mark was seen last (0 or 1): one comes every 25 places or so."""
    generator = torch.Generator().manual_seed(seed)
    symbols = torch.randint(4, (n, length), generator=generator)
    marked = torch.rand(n, length, generator=generator) < 0.04
    marked[:, 0] = True
    marks = torch.randint(2, (n, length), generator=generator)
    symbols = torch.where(marked, 4 + marks, symbols)
    places = torch.where(marked, torch.arange(length), 0).cummax(1).values
    return symbols, marks.gather(1, places)


class Listener(nn.Module):
    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.symbols = nn.Embedding(SYMBOLS, 12)
        self.lstm = nn.LSTM(12, width, batch_first=True)
        self.head = nn.Linear(width, 2)

    def forward(self, symbols: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        out, state = self.lstm(self.symbols(symbols), state)
        return self.head(out).transpose(1, 2), state


def listener(*, seed: int = 0, double: bool = False) -> Listener:
    torch.manual_seed(seed)
    model = Listener()
    return model.double() if double else model


def signal_scene(
    *, steps: int, length: int = 120, chunk: int = 20, seed: int = 0, double: bool = False
) -> dict[str, Any]:
    """The blanks of truncated back-propagation: `sequences`, each a list of chunks of (symbols, last mark)."""
    model = listener(seed=seed, double=double)
    sequences = []
    for number in range(steps):
        symbols, marks = signals(16, length, seed=1000 * seed + number)
        sequences.append(list(zip(torch.split(symbols, chunk, 1), torch.split(marks, chunk, 1), strict=True)))
    return {
        "model": model,
        "optimizer": torch.optim.Adam(model.parameters(), lr=0.01),
        "sequences": sequences,
        "losses": [],
    }


def remembered(model: Listener) -> float:
    """The share of places of new, longer signals at which it knows the last mark."""
    symbols, marks = signals(32, 300, seed=99)
    with torch.no_grad():
        logits, _ = model(symbols)
    return float((logits.argmax(1) == marks).float().mean())
