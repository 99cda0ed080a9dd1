"""Many files: most need a glance, some were read before, the others are read here or by several processes.

The first pass looks at every file, and settles those that train nothing and those whose findings are known. Only then
is it clear how much is left and whether processes pay. The second pass opens the rest again, so that not all texts are
held at once.
"""

import atexit
import gc
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from zerograd.core.findings import Finding
from zerograd.errors import SourceError
from zerograd.source.files.discover import NOTEBOOK, STDIN, read_text
from zerograd.source.relevance import may_train
from zerograd.source.text.addressed import may_allow

if TYPE_CHECKING:
    from zerograd.source.files.cache import Cache
    from zerograd.source.project.files import Project

_COLLECT = 1000  # files
_WORTH = 150  # files that train, for each process: it begins with 0.3 s of its own and reads imports that others read
_MOST = 61  # Windows waits for no more processes


class Settings(NamedTuple):
    codes: frozenset[str] | None = None  # the rules that are chosen; None: all of them
    cache: str | None = None  # the folder of known findings
    version: str = ""  # of zerograd: what another one found does not count
    jobs: int | None = None  # processes; None: as many as pay
    notes: bool = True  # whether they are shown: what is not needs no fix, and each that is tried costs a check


class Target(NamedTuple):
    path: str
    shown: str  # the path that findings name
    text: str | None = None  # of what cannot be opened again


class Outcome(NamedTuple):
    """What one file gave: findings, or one line about why it cannot be read; and lines about parts left out."""

    findings: Sequence[Finding] = ()
    trouble: str = ""
    hides_training: bool = False  # it cannot be read, and it trains, or may
    remarks: Sequence[str] = ()


class Reader:
    """Reads one file after another; what they import is read once."""

    def __init__(self, settings: Settings) -> None:
        gc.disable()  # syntax trees are many small objects without cycles: looking for some costs a third of the time
        from zerograd.rules import REGISTRY  # 40 ms in all: not for files that train nothing
        from zerograd.source.check import check_text
        from zerograd.source.project.files import Project

        atexit.register(gc.freeze)  # nor is it worth looking through what is left when the process ends: a tenth
        self._check = check_text
        self._rules = [rule for code, rule in REGISTRY.items() if settings.codes is None or code in settings.codes]
        self._all = settings.codes is None
        self._notes = settings.notes
        self._cache = _cache(settings)
        self._project = Project(".")
        self._count = 0

    def read(self, target: Target, text: str | None = None) -> Outcome:
        self._count += 1
        if self._count % _COLLECT == 0:
            gc.collect()  # what the files leave behind
        try:
            text = read_text(target.path) if text is None else text
            findings, remarks = self.judge(text, target.shown) if self._rules else ([], ())
        except SourceError as error:
            return Outcome(trouble=error.what, hides_training=text is not None and may_train(text))
        if self._cache is not None and target.path != STDIN and not remarks:
            self._cache.put(target.shown, text, findings, self._project.looked_for(target.shown))
        return Outcome(findings, remarks=remarks)

    def judge(self, text: str, path: str, *, fixes: bool = True) -> tuple[list[Finding], Sequence[str]]:
        """The findings of a file, with the fixes there are; and a line for each part of it that is left out."""
        if not path.endswith(NOTEBOOK):
            return self._judge_program(text, path, fixes=fixes), ()
        from zerograd.source.notebooks.judging import judge_notebook

        return judge_notebook(text, path, lambda program: self._judge_program(program, path, fixes=fixes))

    def _judge_program(self, text: str, path: str, *, fixes: bool) -> list[Finding]:
        findings = self._check(text, path, rules=self._rules, project=self._project)
        if not findings or not fixes:
            return findings
        from zerograd.source.fixes.offering import offer  # for the few files that have findings

        everything = findings if self._all else None
        check = partial(self._check, path=path, project=self._project)
        fixed = offer(findings, text, path, check, everything, notes=self._notes, project=self._project)
        self._project.open(path, text)  # whoever imports it shall not see what was tried
        return fixed


def sweep(
    targets: Sequence[Target], settings: Settings, *, advance: Callable[[int, int], None] = lambda done, total: None
) -> list[Outcome]:
    """One outcome for every target, in their order. `advance` is told how many of the files that take time are done."""
    outcomes, left = _glance(targets, settings)
    for done, outcome in enumerate(_read([targets[number] for number in left], settings)):
        outcomes[left[done]] = outcome
        advance(done + 1, len(left))
    if left and (cache := _cache(settings)) is not None:
        cache.prune()
    return outcomes


def _glance(targets: Sequence[Target], settings: Settings) -> tuple[list[Outcome], list[int]]:
    """The outcomes that cost nothing; and which targets are left."""
    cache = None
    others: list[Project] = []  # made when it is asked for
    outcomes = [Outcome()] * len(targets)
    left: list[int] = []
    for number, target in enumerate(targets):
        try:
            text = read_text(target.path) if target.text is None else target.text
        except SourceError as error:
            outcomes[number] = Outcome(trouble=error.what)
            continue
        if not may_train(text) and not may_allow(text) and not _leads_to_training(text, target.shown, others):
            if target.path.endswith(NOTEBOOK) and (trouble := _cut_off(text, target.shown)):
                outcomes[number] = Outcome(trouble=trouble, hides_training=True)
            continue
        if target.path == STDIN:  # cannot be opened again
            outcomes[number] = Reader(settings).read(target, text)
            continue
        cache = cache or _cache(settings)
        known = cache.get(target.shown, text) if cache is not None else None
        if known is None:
            left.append(number)
        else:
            outcomes[number] = Outcome(known)
    return outcomes, left


def _leads_to_training(text: str, path: str, projects: "list[Project]") -> bool:
    """Whether a file that names nothing of training leaves it to one that it imports."""
    if "torch" not in text or path == STDIN:
        return False
    from zerograd.source.project.files import Project  # 10 ms: not for files that have nothing to do with torch
    from zerograd.source.relevance import trains

    projects += [] if projects else [Project(".")]
    return trains(text, path, projects[0])


def _cut_off(text: str, path: str) -> str:
    """Why a notebook without a word of training may have lost some: it was not written to its end."""
    if text.startswith("{\n") and text.rstrip().endswith("\n}"):
        return ""  # as Jupyter writes it: no other brace stands at the beginning of a line
    import json  # 5 ms: not for those who have no notebooks

    try:
        json.loads(text, strict=False)
    except (ValueError, RecursionError) as error:
        return f"{path}: is not a notebook: {error}"
    return ""


def _read(targets: list[Target], settings: Settings) -> Iterator[Outcome]:
    jobs = min(_MOST, len(targets), settings.jobs if settings.jobs else min(_cores(), len(targets) // _WORTH))
    done = 0
    if jobs > 1:
        from zerograd.source.processes import read_in_processes  # 25 ms

        for outcome in read_in_processes(targets, settings, jobs=jobs):
            done += 1
            yield outcome
    if done < len(targets):  # all of them, or what was left when a process died
        reader = Reader(settings)
        yield from map(reader.read, targets[done:])


def _cores() -> int:
    """Those this process may use, which in a container are fewer than there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _cache(settings: Settings) -> "Cache | None":
    if settings.cache is None:
        return None
    from zerograd.source.files.cache import Cache  # 8 ms

    return Cache(settings.cache, version=settings.version, codes=settings.codes, notes=settings.notes)
