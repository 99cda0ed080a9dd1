"""One program, one process: run its module body, then each root; many programs, a few processes at a time."""

import ast
import linecache
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, TypeVar

import numpy
import torch

from laws.reader.driver import roles
from laws.reader.driver.missing import Finder
from laws.reader.driver.probe import PROGRAM, Enough, Probe, Seen
from laws.reader.driver.roots import call_roots, free_names
from laws.reader.driver.taming import tame
from laws.reader.readers import MAIN, Files

Key = TypeVar("Key")
EVENTS = 60  # of one root: a few rounds of any loop
SECONDS = 0.7  # of processor time, for one root
PATIENCE = 120.0  # for one program: a process that takes longer is ended


def drive(files: Files, *, roots: bool = True) -> Seen:
    """What the program does when its body and its roots are run. Only in a process of its own: torch is changed for
    good."""
    text = files[MAIN]
    tree = ast.parse(text)
    probe = Probe(tree, most=EVENTS)
    tame()
    roles.learn_uses(tree)
    probe.install()
    sys.meta_path.insert(0, Finder({name.removesuffix(".py") for name in files}))
    sys.path.insert(0, os.getcwd())
    sys.argv = [PROGRAM]
    linecache.cache[PROGRAM] = (len(text), None, text.splitlines(keepends=True), PROGRAM)
    random.seed(0)
    numpy.random.seed(0)
    torch.manual_seed(0)
    module: dict[str, Any] = {"__name__": "__main__", "__file__": PROGRAM}

    def guarded(root: Callable[[], object]) -> None:
        probe.next_root()
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
        outer = sys.gettrace()
        sys.settrace(probe.trace)
        try:
            root()
        except (Exception, Enough, SystemExit) as error:
            if not isinstance(error, Enough):
                probe.stopped_by.append(f"{type(error).__name__}: {error}"[:200])
        finally:
            sys.settrace(outer)
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)

    signal.signal(signal.SIGVTALRM, _out_of_time)
    module["range"] = _short_range
    for name in free_names(tree):
        module[name] = roles.given(name)
        probe.label(module[name], name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        guarded(lambda: exec(compile(text, PROGRAM, "exec"), module))
        if roots:
            call_roots(tree, module, probe, guarded)
    return probe.seen()


def _short_range(*limits: Any) -> range:
    """A loop of a thousand rounds shows no more than one of eight."""
    whole = range(*limits)
    return whole if len(whole) <= 16 else whole[:8]


def _out_of_time(*_: object) -> None:
    raise Enough


def drive_all(
    programs: Iterable[tuple[Key, Files]], *, roots: bool = True, workers: int | None = None
) -> Iterator[tuple[Key, Seen | None]]:
    """Each program by its key with what its run showed; None where the process ended without an answer. Without roots,
    its module body alone is run. Forks: to be called where there are no threads."""
    _warm_up()
    context = multiprocessing.get_context("fork")
    pending = iter(programs)
    running: dict[Connection, tuple[Key, Any]] = {}
    while True:
        for key, files in islice(pending, (workers or os.cpu_count() or 1) - len(running)):
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(target=_child, args=(files, roots, theirs), daemon=True)
            process.start()
            theirs.close()
            running[ours] = (key, process)
        if not running:
            return
        for connection in wait(list(running), timeout=PATIENCE) or list(running)[:1]:
            assert isinstance(connection, Connection)
            key, process = running.pop(connection)
            yield key, _received(connection)
            process.kill()
            process.join()
            connection.close()


def _received(connection: Connection) -> Seen | None:
    try:
        seen: Seen | None = connection.recv() if connection.poll() else None
    except EOFError:
        seen = None
    return seen


def _warm_up() -> None:
    """What torch imports at the first use of an optimizer takes seconds: once, for all the children."""
    net = torch.nn.Linear(1, 1)
    optimizer = torch.optim.Adam(net.parameters())
    net(torch.ones(1, 1)).sum().backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()


def _child(files: Files, roots: bool, answer: Connection) -> None:
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as nowhere:
        os.chdir(folder)
        for name, text in files.items():
            Path(name).write_text(text)
        sys.stdout = sys.stderr = nowhere
        answer.send(drive(files, roots=roots))
        answer.close()
