"""The same six questions to every library, in one table:

    PYTHONPATH=src peers/bin/python benchmarks/engine/probe.py        (see requirements.txt)

A library that has no way to do a thing is asked nothing ("-"). A library that is not installed is left out.
"""

import contextlib
import importlib.util
import io
import logging
import math
import os
import sys
import warnings
from collections.abc import Callable

import torch

Verdict = tuple[bool, str]
LIBRARIES = ("raw", "accelerate", "fabric", "lightning", "ignite", "trainer", "step")
QUARTERS = [dict.fromkeys(range(4), 0.25), dict.fromkeys(range(4, 8), 0.25)]


def unequal(log: list[dict[int, float]]) -> Verdict:
    wanted = [{place: rows / 16 for place, rows in enumerate([3, 7, 1, 5])}]
    return log == wanted, _told(log[:1])


def tail(log: list[dict[int, float]]) -> Verdict:
    wanted = [*QUARTERS, {8: 0.5, 9: 0.5}] * 2
    return log == wanted, f"{len(log)} steps for 6, {_told(log[2:3])}"


def failure(log: list[dict[int, float]]) -> Verdict:
    """Micro-batch 1 raises. Every update is a mean over one group, or there is none."""
    means = all(math.isclose(sum(step.values()), 1.0) for step in log)
    return means and log[-1:] == QUARTERS[1:], _told(log[:1])


def not_finite(seen: tuple[bool, float]) -> Verdict:
    finite, lr = seen
    return (finite, lr) == (True, 0.0625), f"weights {'finite' if finite else 'NaN'}, learning rate moved {_moves(lr)}x"


def gan(log: list[dict[int, float]]) -> Verdict:
    return log == [{place: 1.0} for place in range(4)], _told(log[1:2])


def resume(equal: bool) -> Verdict:
    return equal, "the same weights" if equal else "gradients lost"


QUESTIONS: dict[str, tuple[Callable[..., Verdict], str]] = {
    "unequal": (unequal, "3, 7, 1 and 5 rows: each row weighs 1/16"),
    "tail": (tail, "10 micro-batches in fours, twice: the last group is a mean of 2"),
    "failure": (failure, "micro-batch 1 raises and is caught: no update is a part of a mean"),
    "not_finite": (not_finite, "a NaN: finite weights, and the schedule moves with the weights (1x)"),
    "gan": (gan, "the generator's loss leaves nothing in the discriminator"),
    "resume": (resume, "stopped after 2 of 4 micro-batches: the same weights"),
}


def _told(log: list[dict[int, float]]) -> str:
    return " ".join("{" + ", ".join(f"{place}: {value:.3g}" for place, value in step.items()) + "}" for step in log)


def _moves(lr: float) -> int:
    return round(math.log2(0.125 / lr))


def main() -> None:
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    os.environ["WANDB_DISABLED"] = "true"
    torch.set_num_threads(1)
    answers: dict[str, dict[str, Verdict | None]] = {}
    for name in LIBRARIES:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            try:
                library = _load(name)
            except ImportError:
                continue
            answers[library.NAME] = {
                question: judge(getattr(library, question)()) if hasattr(library, question) else None
                for question, (judge, _) in QUESTIONS.items()
            }
    print(f"torch {torch.__version__}\n\n| | {' | '.join(answers)} |\n|---|{'---|' * len(answers)}")
    for question, (_, what) in QUESTIONS.items():
        cells = [_cell(of[question]) for of in answers.values()]
        print(f"| {what} | {' | '.join(cells)} |")
    sys.exit(0 if all(verdict and verdict[0] for verdict in answers["Step"].values()) else 1)


def _load(name: str) -> object:
    """From its file: two of the libraries have the name of the package they import."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libraries", f"{name}.py")
    spec = importlib.util.spec_from_file_location(f"asked_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _cell(verdict: Verdict | None) -> str:
    if verdict is None:
        return "-"
    return "right" if verdict[0] else f"**wrong**: {verdict[1]}"


if __name__ == "__main__":
    main()
