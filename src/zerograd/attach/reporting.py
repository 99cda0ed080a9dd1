"""`zerograd run --report FILE`: a page about the run that has just ended, from the traces of all its processes."""

import contextlib
import os

from zerograd.attach.settings import Settings
from zerograd.errors import ZerogradError
from zerograd.report.walk import processes
from zerograd.report.writing import render


def folder_for(report: str) -> str:
    """Where the traces go if nobody said: beside the page, because other reports can be made from them."""
    return f"{os.path.splitext(report)[0]}.traces"


def make(report: str, settings: Settings) -> str:
    """What to tell about it. Every rank makes it anew when it ends: the last one knows of all."""
    draft = f"{report}.{os.getpid()}"
    with contextlib.suppress(OSError):  # it holds something: a trace of this run, or of an earlier one
        os.rmdir(settings.trace)
        return "zerograd: no report: no torch.optim.Optimizer has stepped in this run"
    try:
        text = render(processes([settings.trace], run=settings.run), "html")
        with open(draft, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(draft, report)
    except (ZerogradError, OSError) as error:
        return f"zerograd: no report: {error}"
    return f"report: {report}"
