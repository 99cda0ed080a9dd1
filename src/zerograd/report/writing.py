"""A report from traces to a file, in any form there is."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from zerograd.errors import UsageError
from zerograd.report.walk import Process, processes

_DEFAULT = {"html": "report.html", "perfetto": "zerograd.trace.json", "tensorboard": "runs/zerograd"}


def write(traces: Sequence[str | Path], form: str, target: str | None, *, beside: str | None = None) -> str:
    """Where it went, in words; nothing, if the reader has it before them."""
    known = processes(traces)
    if form == "tensorboard":
        from zerograd.report.tensorboard import tensorboard  # torch, and what it writes with

        folder = target or _DEFAULT[form]
        tensorboard(known, folder)
        return f"scalars in {folder}; look at them with: tensorboard --logdir {folder}"
    text = render(known, form, beside=beside)
    summary = os.environ.get("GITHUB_STEP_SUMMARY") if form == "markdown" and target is None else None
    target = target or _DEFAULT.get(form)
    if summary:
        save(summary, text, mode="a")
        return "added to the step summary"
    if target in (None, "-"):
        sys.stdout.write(text)
        sys.stdout.flush()
        return ""
    save(str(target), text)
    return f"report in {target}"


def render(known: list[Process], form: str, *, beside: str | None = None) -> str:
    if form == "csv":
        from zerograd.report.csv import steps_csv

        return steps_csv(known)
    if form == "perfetto":
        from zerograd.report.perfetto import perfetto

        return perfetto(known, beside=beside)
    from zerograd.report.story import Story

    story = Story(known)
    if form == "json":
        import json

        from zerograd.report.data import data

        return json.dumps(data(story), allow_nan=False) + "\n"
    if form == "markdown":
        from zerograd.report.markdown import markdown

        return markdown(story)
    from zerograd.report.html import html

    return html(story)


def save(path: str, text: str, *, mode: str = "w") -> None:
    try:
        with open(path, mode, encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}", slug="output-file") from None
