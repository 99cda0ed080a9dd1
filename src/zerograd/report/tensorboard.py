"""A run as TensorBoard's scalars and text, one run for each optimizer."""

import re
from pathlib import Path

from zerograd.errors import MissingExtra
from zerograd.report.markdown import markdown
from zerograd.report.story import Story
from zerograd.report.walk import Process


def tensorboard(processes: list[Process], folder: str) -> None:
    try:
        from torch.utils.tensorboard import SummaryWriter  # seconds, and only here
    except ImportError:
        raise MissingExtra(
            "TensorBoard files are written by torch.utils.tensorboard, which needs the package tensorboard",
            cure="pip install tensorboard, or choose another form: --output-format csv.",
            slug="missing-tensorboard",
        ) from None
    writers: dict[str, SummaryWriter] = {}
    for process in processes:
        began = process.trace.header.get("began")
        for moment in process.walk():
            step = moment.step
            if step is None:
                continue
            name = re.sub(r"[^\w.-]+", "_", f"{process.name}-{moment.lane.slot}")[:80]
            if name not in writers:
                writers[name] = SummaryWriter(str(Path(folder) / name))
            now = (
                (began + moment.line.at * 1000) / 1e9 if isinstance(began, int) and moment.line.at is not None else None
            )
            scalars = {**step.numbers, "micro_batches": step.micro_batches, "stale_share": step.stale_share}
            for tag, value in {**scalars, "skipped": float(step.skipped)}.items():
                writers[name].add_scalar(f"zerograd/{tag}", value, step.number, walltime=now)
    text = markdown(Story(processes))
    for writer in writers.values():
        writer.add_text("zerograd/report", text)
        writer.close()
