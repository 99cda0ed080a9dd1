"""What the audit costs on a GPU, whether it changes a bit, and how often it makes the host wait.

    PYTHONPATH=src python3 benchmarks/audit/gpu.py --out DIR

Two loops: a 124M-parameter transformer in bfloat16 autocast, and a small model whose step is bound by kernel launches.
For each: the time inside the audit, audited / plain in turns, the weights after the same steps with and without it, and
the synchronisations that torch's own sync debug mode warns about.
"""

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import torch
from loops import Loop
from timing import paired, self_timed
from torch.nn.attention import SDPBackend, sdpa_kernel

import zerograd

LOOPS: dict[str, dict[str, Any]] = {
    "transformer 124M": {"tensors": 148, "width": 768, "batch": 8, "length": 1024, "words": 50304, "autocast": True},
    "launch-bound": {"tensors": 28, "width": 64, "batch": 4, "length": 16, "words": 64},
}


def by_hand(loop: Loop) -> None:
    """The same step, cleared by filling with zeros by hand."""
    for parameter in loop.model.parameters():
        if parameter.grad is not None:
            parameter.grad.zero_()
    torch.nn.functional.cross_entropy(
        loop.model(loop.tokens[:, :-1]).flatten(0, 1), loop.tokens[:, 1:].flatten()
    ).backward()
    loop.optimizer.step()


def syncs(step: Any, *, steps: int = 12, **audit: Any) -> float:
    """Host synchronisations for each step that the audit adds."""

    def counted() -> int:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            torch.cuda.set_sync_debug_mode("warn")
            for _ in range(steps):
                step()
            torch.cuda.set_sync_debug_mode("default")
        return sum("synchroniz" in str(warning.message) for warning in heard)

    plain = counted()
    with zerograd.audit(on_finding="collect", **audit):
        for _ in range(10):
            step()
        audited = counted()
    return (audited - plain) / steps


def equal(settings: dict[str, Any], *, steps: int, mode: str) -> str:
    """Whether the weights are bitwise the same after `steps` with and without the audit; and without it, twice."""

    def trained() -> torch.Tensor:
        torch.manual_seed(0)
        loop = Loop(device="cuda", **settings)
        for _ in range(steps):
            loop.step()
        return loop.weights()

    torch.use_deterministic_algorithms(True, warn_only=True)
    with sdpa_kernel(SDPBackend.MATH):  # the fast attentions add up in an order that changes from run to run
        plain, again = trained(), trained()
        with zerograd.audit(on_finding="collect", mode=mode):
            audited = trained()
    torch.use_deterministic_algorithms(False)
    return f"{torch.equal(plain, audited)} (two plain runs: {torch.equal(plain, again)})"


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--out", type=Path, required=True)
    out = options.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    wait = torch.cuda.synchronize
    for name, settings in LOOPS.items():
        small = name == "launch-bound"
        loop = Loop(device="cuda", **settings)
        for _ in range(3):
            loop.step()
        for mode in ("lean", "full"):
            spent = self_timed(loop.step, steps=60, wait=wait, mode=mode)
            ratio, plain = paired(loop.step, pairs=8, block=50 if small else 8, wait=wait, mode=mode)
            found[f"{name}, {mode}"] = {
                "step ms": round(plain * 1e3, 3),
                "inside us": round(spent.inside * 1e6),
                "inside %": round(100 * spent.inside / plain, 3),
                "mean us": round(spent.average * 1e6),
                "mean %": round(100 * spent.average / plain, 3),
                "paired %": round(100 * (ratio - 1), 3),
                "syncs added per step": syncs(loop.step, mode=mode),
                "weights equal": equal(settings, steps=8, mode=mode),
            }
            print(name, mode, found[f"{name}, {mode}"], flush=True)
        found[f"{name}, zeroed by hand"] = {"syncs added per step": syncs(lambda loop=loop: by_hand(loop))}
        print(name, "by hand", found[f"{name}, zeroed by hand"], flush=True)
        del loop
        torch.cuda.empty_cache()
    (out / "audit-gpu.json").write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
