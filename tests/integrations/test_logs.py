"""JSON lines per rank, written by a thread of their own: whoever trains never waits."""

import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import zerograd
from zerograd.integrations.logs import JsonLines, log_event, log_finding


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    logger = logging.getLogger("zerograd")
    logger.setLevel(logging.INFO)
    yield logger
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
        handler.close()
    logger.setLevel(logging.NOTSET)


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_events_and_findings_as_json_lines(
    tmp_path: Path, logger: logging.Logger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "3")
    handler = JsonLines(tmp_path)
    logger.addHandler(handler)
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    with zerograd.audit(trace=log_event, on_finding=log_finding):
        for _ in range(3):
            weight.sum().backward()
            optimizer.step()
    handler.flush()
    assert handler.path.name == f"rank3-{os.getpid()}.jsonl"
    written = lines(handler.path)
    assert {line["rank"] for line in written} == {3}
    assert [line["kind"] for line in written if "kind" in line] == ["deposit", "consume"] * 3
    (finding,) = [line for line in written if "finding" in line]
    assert finding["level"] == "ERROR"
    assert finding["finding"]["code"] == "ZG001"  # type: ignore[index]


def test_a_step_tells_of_itself(tmp_path: Path, logger: logging.Logger) -> None:
    handler = JsonLines(tmp_path)
    logger.addHandler(handler)
    weight = torch.nn.Parameter(torch.ones(3))
    step = zerograd.Step(torch.optim.SGD([weight], lr=0.1), trace=log_event)
    with step:
        step.backward(weight.sum())
    logger.info("epoch %d", 1)
    handler.flush()
    assert [line.get("kind", line["message"]) for line in lines(handler.path)][-4:] == [
        "deposit", "consume", "clear", "epoch 1",
    ]  # fmt: skip


def test_a_disk_that_stands_still_holds_nobody(tmp_path: Path, logger: logging.Logger) -> None:
    os.mkfifo(tmp_path / "pipe")  # to open it is to wait for a reader, who does not come

    class Stuck(JsonLines):
        def _start(self) -> None:
            super()._start()
            self.path = tmp_path / "pipe"

    handler = Stuck(tmp_path, most=10)
    logger.addHandler(handler)
    for number in range(30):
        logger.info("line %d", number)
    assert handler.dropped >= 30 - 11
    threading.Thread(target=lambda: (tmp_path / "pipe").read_bytes(), daemon=True).start()  # lets it end


def test_a_full_disk_ends_the_log_alone(logger: logging.Logger) -> None:
    handler = JsonLines("/dev")
    handler.path = Path("/dev/full")
    logger.addHandler(handler)
    logger.info("one")
    writer = handler._writer
    assert writer is not None
    writer.join(timeout=30)
    logger.info("two")
    assert not writer.is_alive()


FORKS = """
import logging, os, sys
from zerograd.integrations.logs import JsonLines
logger = logging.getLogger("zerograd")
logger.setLevel(logging.INFO)
logger.addHandler(JsonLines(sys.argv[1]))
logger.info("before")
child = os.fork()
logger.info("after")
if child:
    os.waitpid(child, 0)
"""


def test_a_forked_process_has_a_file_of_its_own(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", FORKS, str(tmp_path)], check=True, timeout=120)
    told = sorted([str(line["message"]) for line in lines(file)] for file in tmp_path.glob("*.jsonl"))
    assert told == [["after"], ["before", "after"]]
