"""What a step costs, in every library at once:

    PYTHONPATH=src peers/bin/python benchmarks/engine/overhead.py mlp        (or: tensors; see requirements.txt)

Every library runs in a thread of its own, and a baton lets exactly one of them run at a time, some steps per turn: a
machine that gets slower for a while gets slower for all. Told are medians over the turns of the ratio to plain PyTorch
in the same round. Libraries that are not installed are left out.
"""

import argparse
import importlib.util
import logging
import os
import statistics
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from zerograd import Step

TURN = 20  # steps; the first of a turn has waited for the baton and is not counted
WARM = 3  # turns that are not counted
clip_grad_norm_ = torch.nn.utils.clip_grad_norm_


class Clock:
    """Passes the baton after every TURN-th forward pass, and notes how long each step took."""

    def __init__(self, names: list[str], turns: int) -> None:
        self.names, self.turns = names, turns
        self.batons = {name: threading.Semaphore(0) for name in names}
        self.times: dict[str, list[list[float]]] = {name: [[] for _ in range(turns + 1)] for name in names}
        self.done: set[str] = set()

    def next_after(self, name: str, *, wait: bool) -> None:
        place = self.names.index(name)
        others = [*self.names[place + 1 :], *self.names[:place]]
        follower = next((other for other in others if other not in self.done), None)
        if follower is not None:
            self.batons[follower].release()
            if wait:
                self.batons[name].acquire()


class Net(nn.Module):
    def __init__(self, name: str, kind: str, clock: Clock) -> None:
        super().__init__()
        torch.manual_seed(0)
        wide = [nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)]
        self.body = nn.Sequential(*(wide if kind == "mlp" else [nn.Linear(10, 10) for _ in range(150)]))
        self.name, self.clock, self.count, self.last = name, clock, 0, 0.0

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        now = time.perf_counter()
        turn, place = divmod(self.count, TURN)
        if place and turn < len(self.clock.times[self.name]):
            self.clock.times[self.name][turn].append(now - self.last)
        if place == 0 and self.count:
            self.clock.next_after(self.name, wait=True)
        self.count += 1
        self.last = time.perf_counter()
        return nn.functional.cross_entropy(self.body(x), y)


class Data(torch.utils.data.IterableDataset):
    def __init__(self, width: int, steps: int) -> None:
        generator = torch.Generator().manual_seed(0)
        rows = [torch.randn(8, width, generator=generator) for _ in range(16)]
        self.batches = [(x, torch.randint(10, (8,), generator=generator)) for x in rows]
        self.steps = steps

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        return (self.batches[number % 16] for number in range(self.steps))


def _optimizer(net: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(net.parameters(), lr=1e-3)


def plain(net: Net, data: Data, *, clip: bool = False) -> None:
    optimizer = _optimizer(net)
    for x, y in _loader(data):
        optimizer.zero_grad()
        net(x, y).backward()
        if clip:
            clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()


def step(net: Net, data: Data, **options: object) -> None:
    one = Step(_optimizer(net), **options)
    for x, y in _loader(data):
        with one:
            one.backward(net(x, y))


def accelerate(net: Net, data: Data, *, clip: bool = False) -> None:
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    model, optimizer, batches = accelerator.prepare(net, _optimizer(net), _loader(data))
    for x, y in batches:
        with accelerator.accumulate(model):
            accelerator.backward(model(x, y))
            if clip and accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()


def fabric(net: Net, data: Data) -> None:
    from lightning.fabric import Fabric

    one = Fabric(accelerator="cpu", devices=1)
    model, optimizer = one.setup(net, _optimizer(net))
    for x, y in one.setup_dataloaders(_loader(data)):
        optimizer.zero_grad()
        one.backward(model(x, y))
        optimizer.step()


def lightning(net: Net, data: Data) -> None:
    import lightning as package

    class Module(package.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = net

        def training_step(self, batch: tuple[Tensor, Tensor], number: int) -> Tensor:
            return self.net(*batch)

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return _optimizer(self)

    quiet = {
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }
    package.Trainer(accelerator="cpu", devices=1, max_epochs=1, **quiet).fit(Module(), _loader(data))


def ignite(net: Net, data: Data) -> None:
    from ignite.engine import Engine, supervised_training_step

    def prepare(batch: tuple[Tensor, Tensor], device: object = None, non_blocking: bool = False) -> tuple:
        return batch[0], batch

    update = supervised_training_step(nn.Identity(), _optimizer(net), lambda _, pair: net(*pair), prepare_batch=prepare)
    Engine(update).run(_loader(data), max_epochs=1, epoch_length=data.steps)


def trainer(net: Net, data: Data) -> None:
    import transformers

    transformers.logging.set_verbosity_error()

    class Wrapped(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = net

        def forward(self, x: Tensor, labels: Tensor) -> dict[str, Tensor]:
            return {"loss": self.net(x, labels), "logits": x}

    wrapped = Wrapped()
    optimizer = _optimizer(wrapped)
    arguments = transformers.TrainingArguments(
        output_dir=tempfile.mkdtemp(),
        per_device_train_batch_size=1,
        max_steps=data.steps,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        max_grad_norm=0,
        save_strategy="no",
        logging_strategy="no",
        remove_unused_columns=False,
    )
    transformers.Trainer(
        model=wrapped,
        args=arguments,
        train_dataset=[{"x": x, "labels": y} for x, y in data],
        data_collator=lambda batch: batch[0],
        optimizers=(optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1.0)),
    ).train()


def _loader(data: Data) -> torch.utils.data.DataLoader:
    return torch.utils.data.DataLoader(data, batch_size=None)


RUNS: dict[str, tuple[str, Callable[[Net, Data], None]]] = {
    "plain PyTorch": ("torch", plain),
    'Step(nonfinite="ignore")': ("torch", lambda net, data: step(net, data, nonfinite="ignore")),
    'Step(nonfinite="ignore", isolate=False)': (
        "torch",
        lambda net, data: step(net, data, nonfinite="ignore", isolate=False),
    ),
    "Step()": ("torch", step),
    "plain PyTorch + clip_grad_norm_": ("torch", lambda net, data: plain(net, data, clip=True)),
    "Step(clip=1.0)": ("torch", lambda net, data: step(net, data, clip=1.0)),
    "Accelerate": ("accelerate", accelerate),
    "Accelerate + clip": ("accelerate", lambda net, data: accelerate(net, data, clip=True)),
    "Fabric": ("lightning", fabric),
    "Lightning": ("lightning", lightning),
    "ignite": ("ignite", ignite),
    "HF Trainer": ("transformers", trainer),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=["mlp", "tensors"], help="3 layers, or 300 small tensors")
    parser.add_argument("--turns", type=int, default=60)
    chosen = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    os.environ["WANDB_DISABLED"] = "true"
    torch.set_num_threads(1)
    names = [name for name, (package, _) in RUNS.items() if importlib.util.find_spec(package)]
    clock = Clock(names, chosen.turns + WARM)
    data = Data(32 if chosen.model == "mlp" else 10, (chosen.turns + WARM) * TURN)
    threads = [threading.Thread(target=_run, args=(name, chosen.model, clock, data)) for name in names]
    for thread in threads:
        thread.start()
    clock.batons[names[0]].release()
    for thread in threads:
        thread.join()
    _tell(clock, chosen.model)


def _run(name: str, model: str, clock: Clock, data: Data) -> None:
    clock.batons[name].acquire()
    try:
        RUNS[name][1](Net(name, model, clock), data)
    finally:
        clock.done.add(name)
        clock.next_after(name, wait=False)


def _tell(clock: Clock, model: str) -> None:
    turns = range(WARM, clock.turns)
    medians = {name: [statistics.median(times[turn]) for turn in turns] for name, times in clock.times.items()}
    base = medians["plain PyTorch"]
    print(f"{model}, torch {torch.__version__}, one thread, {len(turns)} turns of {TURN} steps\n")
    print("| | time / plain PyTorch | middle half | us |\n|---|---|---|---|")
    for name, own in medians.items():
        ratios = [one / other for one, other in zip(own, base, strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        print(f"| {name} | {middle:.3f} | {low:.3f} to {high:.3f} | {statistics.median(own) * 1e6:.0f} |")


if __name__ == "__main__":
    main()
