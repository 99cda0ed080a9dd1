"""The ways to take an optimizer step: written by hand, by a library, as a graph written by hand, by Step.

All of them: bf16 autocast, fused AdamW, the mean over the micro-batches, gradients clipped to a norm of 1.
"""

import tempfile
import threading
from collections.abc import Callable, Iterator

import torch
from models import CUDA, Batch, Task, loss
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_

from zerograd import Step

Group = list[Batch]
Take = Callable[[Group], object]


def _adamw(model: nn.Module, **options: bool) -> torch.optim.Optimizer:
    return torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True, **options)


def raw(task: Task, model: nn.Module, *, compile: bool = False) -> Take:
    net, optimizer = torch.compile(model) if compile else model, _adamw(model)

    def take(group: Group) -> None:
        optimizer.zero_grad()
        for x, y in group:
            with torch.autocast(CUDA, torch.bfloat16):
                part = loss(net, x, y) / task.micro_batches
            part.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return take


def nudged(task: Task, model: nn.Module) -> Take:
    """The raw loop from weights that are one rounding off: how far apart such a training ends is what rounding is."""
    generator = torch.Generator(CUDA).manual_seed(2)
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(1 + 2.0**-23 * torch.randint(-1, 2, weight.shape, device=CUDA, generator=generator))
    return raw(task, model)


def graph(task: Task, model: nn.Module, *, compile: bool = False) -> Take:
    """The page of code that an expert writes: static inputs, a warm-up on a side stream, capture, replay."""
    net, optimizer = torch.compile(model) if compile else model, _adamw(model, capturable=True)
    static = [tuple(torch.empty_like(part) for part in batch) for batch in task.data()[0]]
    flat = [part for batch in static for part in batch]

    def body() -> None:
        optimizer.zero_grad()
        for x, y in static:
            with torch.autocast(CUDA, torch.bfloat16, cache_enabled=False):
                part = loss(net, x, y) / task.micro_batches
            part.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    for target, source in zip(static, task.data()[0], strict=True):
        for one, other in zip(target, source, strict=True):
            one.copy_(other)
    kept = {name: value.clone() for name, value in model.state_dict().items()}
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            body()
    torch.cuda.current_stream().wait_stream(side)
    model.load_state_dict(kept)
    for state in optimizer.state.values():
        for value in state.values():
            value.zero_()
    recorded = torch.cuda.CUDAGraph()
    optimizer.zero_grad()
    with torch.cuda.graph(recorded):
        body()

    # Whoever forgets to hold what the graph uses, kernels and optimizer state among it, has it run on freed memory.
    def take(group: Group, held: object = body) -> None:
        torch._foreach_copy_(flat, [part for batch in group for part in batch])
        recorded.replay()

    return take


def step(task: Task, model: nn.Module) -> Take:
    one = Step(_adamw(model), clip=1.0, autocast=torch.bfloat16)

    def take(group: Group) -> None:
        with one:
            for x, y in one.micro_batches(group):
                one.backward(loss(model, x, y))

    return take


def captured(task: Task, model: nn.Module, *, compile: bool = False) -> Take:
    one = Step(_adamw(model), clip=1.0, autocast=torch.bfloat16)

    def body(group: Group) -> None:
        for x, y in one.micro_batches(group):
            one.backward(loss(model, x, y))

    return one.capture(body, task.data()[0], compile=compile)


def accelerate(task: Task, model: nn.Module) -> Take:
    from accelerate import Accelerator

    accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=task.micro_batches)
    net, optimizer = accelerator.prepare(model, _adamw(model))

    def take(group: Group) -> None:
        for x, y in group:
            with accelerator.accumulate(net):
                accelerator.backward(loss(net, x, y))
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(net.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()

    return take


def fabric(task: Task, model: nn.Module) -> Take:
    from lightning_fabric import Fabric

    one = Fabric(accelerator="cuda", devices=1, precision="bf16-mixed")
    net, optimizer = one.setup(model, _adamw(model))

    def take(group: Group) -> None:
        optimizer.zero_grad()
        for x, y in group:
            one.backward(loss(net, x, y) / task.micro_batches)
        one.clip_gradients(net, optimizer, max_norm=1.0)
        optimizer.step()

    return take


class Driven:
    """A library that owns the loop runs in a thread, and stops at the first forward of a step until told to go on."""

    def __init__(self, task: Task, model: nn.Module, run: Callable[["Driven"], None]) -> None:
        self.task, self.model, self._forwards = task, model, 0
        self._go, self._done = threading.Semaphore(0), threading.Semaphore(0)
        self._group: Group = []
        self._thread = threading.Thread(target=self._run, args=(run,), daemon=True)
        self._thread.start()
        self._done.acquire()
        if self._error is not None:
            raise self._error

    _error: BaseException | None = None

    def _run(self, run: Callable[["Driven"], None]) -> None:
        try:
            run(self)
        except BaseException as error:
            self._error = error
            self._done.release()

    def forward(self) -> Tensor:
        """The loss of the next micro-batch, whatever the library passes."""
        place = self._forwards % self.task.micro_batches
        if place == 0:
            self._done.release()
            self._go.acquire()
        self._forwards += 1
        return loss(self.model, *self._group[place])

    def __call__(self, group: Group) -> None:
        self._group = group
        self._go.release()
        self._done.acquire()
        if self._error is not None:
            raise self._error


class Endless(torch.utils.data.IterableDataset):
    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        while True:
            yield {"x": torch.zeros(1)}


def lightning(task: Task, model: nn.Module) -> Take:
    import lightning as package

    def run(driven: Driven) -> None:
        class Module(package.LightningModule):
            def __init__(self) -> None:
                super().__init__()
                self.net = model

            def training_step(self, batch: object, number: int) -> Tensor:
                return driven.forward()

            def configure_optimizers(self) -> torch.optim.Optimizer:
                return torch.optim.AdamW(model.parameters(), lr=1e-4)  # it refuses to clip for a fused one

        quiet = dict.fromkeys(["logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"], False)
        package.Trainer(
            accelerator="cuda", devices=1, precision="bf16-mixed", max_epochs=1,
            accumulate_grad_batches=task.micro_batches, gradient_clip_val=1.0, **quiet,
        ).fit(Module(), torch.utils.data.DataLoader(Endless(), batch_size=None))  # fmt: skip

    return Driven(task, model, run)


def trainer(task: Task, model: nn.Module) -> Take:
    import transformers

    transformers.logging.set_verbosity_error()

    def run(driven: Driven) -> None:
        class Wrapped(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.net = model

            def forward(self, x: Tensor) -> dict[str, Tensor]:
                return {"loss": driven.forward()}

        wrapped = Wrapped()
        optimizer = _adamw(wrapped)
        arguments = transformers.TrainingArguments(
            output_dir=tempfile.mkdtemp(), per_device_train_batch_size=1, max_steps=10**6, report_to=[], bf16=True,
            gradient_accumulation_steps=task.micro_batches, disable_tqdm=True, max_grad_norm=1.0, save_strategy="no",
            logging_strategy="no", remove_unused_columns=False,
        )  # fmt: skip
        transformers.Trainer(
            model=wrapped, args=arguments, train_dataset=Endless(), data_collator=lambda batch: batch[0],
            optimizers=(optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1.0)),
        ).train()  # fmt: skip

    return Driven(task, model, run)


WAYS: dict[str, Callable[[Task, nn.Module], Take]] = {
    "raw loop": raw,
    "raw loop, one rounding off": nudged,
    "Accelerate": accelerate,
    "Fabric": fabric,
    "Lightning": lightning,
    "HF Trainer": trainer,
    "raw loop + compile": lambda task, model: raw(task, model, compile=True),
    "graph by hand": graph,
    "graph by hand + compile": lambda task, model: graph(task, model, compile=True),
    "Step": step,
    "Step, captured": captured,
    "Step, captured + compile": lambda task, model: captured(task, model, compile=True),
}
# What can lie in memory at the same time if the model is large. Ratios are taken inside a group.
APART = [
    ["raw loop", "raw loop, one rounding off", "Step", "graph by hand", "Step, captured"],
    ["raw loop", "raw loop + compile", "graph by hand + compile", "Step, captured + compile"],
]
# Libraries that own the loop: tried where a step is long enough for that not to matter.
OWNERS = ("Lightning", "HF Trainer")
