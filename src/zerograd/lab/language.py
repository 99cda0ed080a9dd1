"""Real work: a small language with sentences of any length, and a character-level transformer that learns it."""

import math
import random
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

_NOUNS = ("dog", "cat", "bird", "old man", "child", "grey horse")
_VERBS = ("sees", "likes", "follows", "calls", "does not hear")
_ENDS = (".", "?", "!")
ALPHABET = "\0" + "".join(sorted(set("the and who ." + "".join(_NOUNS + _VERBS + _ENDS))))
PADDING = 0


def sentence(dice: random.Random) -> str:
    """A sentence of 14 to more than 100 characters: clauses nest and chain, as the dice fall."""
    return _clause(dice, 0) + dice.choice(_ENDS)


def _clause(dice: random.Random, depth: int) -> str:
    words = f"the {dice.choice(_NOUNS)} {dice.choice(_VERBS)} the {dice.choice(_NOUNS)}"
    if depth < 3 and dice.random() < 0.45:
        words += f" who {dice.choice(_VERBS)} the {dice.choice(_NOUNS)}"
    if depth < 3 and dice.random() < 0.35:
        words += f" and {_clause(dice, depth + 1)}"
    return words


class Text(NamedTuple):
    """A micro-batch of sentences, padded to the longest."""

    inputs: Tensor
    targets: Tensor

    @property
    def tokens(self) -> int:
        """How many characters count in the loss."""
        return int((self.targets != PADDING).sum())


def text_batches(n: int, *, sentences: int = 4, seed: int = 0, even: bool = False) -> list[Text]:
    """`n` micro-batches. even: every sentence cut or repeated to 32 characters, so that all weigh the same."""
    dice = random.Random(seed)
    batches = []
    for _ in range(n):
        lines = [sentence(dice) for _ in range(sentences)]
        if even:
            lines = [(line * 3)[:33] for line in lines]
        rows = [torch.tensor([ALPHABET.index(letter) for letter in line]) for line in lines]
        padded = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PADDING)
        batches.append(Text(padded[:, :-1], padded[:, 1:]))
    return batches


class Writer(nn.Module):
    """A causal transformer over characters."""

    def __init__(self, *, width: int = 32, layers: int = 2, dropout: float = 0.0, longest: int = 400) -> None:
        super().__init__()
        self.letters = nn.Embedding(len(ALPHABET), width)
        self.places = nn.Embedding(longest, width)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, len(ALPHABET))

    def forward(self, text: Tensor) -> Tensor:
        length = text.shape[1]
        hidden = self.letters(text) + self.places(torch.arange(length))
        ahead = torch.full((length, length), -math.inf, dtype=hidden.dtype).triu(1)
        logits: Tensor = self.head(self.layers(hidden, mask=ahead, is_causal=True))
        return logits


def writer(*, seed: int = 0, double: bool = False, dropout: float = 0.0, width: int = 32) -> Writer:
    torch.manual_seed(seed)
    model = Writer(dropout=dropout, width=width)
    return model.double() if double else model


def spelling(logits: Tensor, targets: Tensor) -> Tensor:
    """Nats per character, over the characters that are no padding."""
    return nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=PADDING)


def nats(model: Writer, *, seed: int = 77) -> float:
    """Nats per character on sentences it has not seen, every character counted once."""
    total = count = 0.0
    with torch.no_grad():
        for text in text_batches(2, sentences=16, seed=seed):
            total += float(spelling(model(text.inputs), text.targets)) * text.tokens
            count += text.tokens
    return total / count


def language_scene(
    *, batches: int, seed: int = 0, double: bool = False, even: bool = False, dropout: float = 0.0
) -> dict[str, Any]:
    """An accumulating loop's blanks: model, optimizer, batches of text, loss_fn, and `losses` to fill."""
    model = writer(seed=seed, double=double, dropout=dropout)
    return {
        "model": model,
        "optimizer": torch.optim.SGD(model.parameters(), lr=0.1),
        "batches": text_batches(batches, seed=seed, even=even),
        "loss_fn": spelling,
        "losses": [],
        "accumulation_steps": 4,
    }
