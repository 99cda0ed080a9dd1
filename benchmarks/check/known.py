"""Both readers on faults that are known: what each finds, and what the abstract run loses.

    python benchmarks/check/known.py --facts DIR --mirrors DIR [--kept DIR] [--repo NAME] [--repositories]

A fault is found if a code that answers its kind (see answers.py) stands in its function. Only faults are counted that
one of the compared codes can answer. --repositories: the certain findings in the repositories of repos.json instead.
"""

import argparse
import os
import signal
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from answers import BUGS
from corpus import Case, Snapshot, kept, read_cases, read_repositories
from recall import function_lines

from zerograd.core.findings import Certainty, Finding, Severity
from zerograd.errors import SourceError
from zerograd.source.abstract import check_abstractly
from zerograd.source.check import check_text
from zerograd.source.files.discover import read_text
from zerograd.source.lowering.library import Library
from zerograd.source.notebooks.judging import judge_notebook
from zerograd.source.project.files import Project
from zerograd.source.text.triggers import may_train

_CODES = "ZG001 ZG002 ZG003 ZG004 ZG005 ZG006 ZG007 ZG009 ZG201 ZG202 ZG204 ZG301 ZG302"
CODES = set(_CODES.split())  # that both readers answer for
SLOW = 3.0  # seconds of CPU for one file that deserve a look
PATIENCE = 60  # seconds of CPU after which a file is given up
READERS = ("old", "new")


class Reading(NamedTuple):
    """What one reader says of one file."""

    findings: list[Finding]
    seconds: float
    trouble: str = ""

    def answer(self, wanted: set[str], lines: range) -> str:
        """certain, possible or missed"""
        found = [one for one in self.findings if one.code in wanted and one.site.line in lines]
        if any(one.certainty is Certainty.CERTAIN for one in found):
            return "certain"
        return "possible" if found else "missed"


class Readers:
    """Both readers, in one repository: the working directory."""

    def __init__(self) -> None:
        library, project = Library("."), Project(".")
        self._judges: dict[str, Callable[[str, str], list[Finding]]] = {
            "old": lambda text, path: check_text(text, path, library=library),
            "new": lambda text, path: check_abstractly(text, path, project=project),
        }

    def read(self, path: str) -> dict[str, Reading]:
        return {name: _timed(judge, path) for name, judge in self._judges.items()}


def _timed(judge: Callable[[str, str], list[Finding]], path: str) -> Reading:
    began, trouble, found = time.process_time(), "", list[Finding]()
    signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
    try:
        text = read_text(path)
        if path.endswith(".ipynb"):
            found = judge_notebook(text, path, lambda joined: judge(joined, path)).findings
        else:
            found = judge(text, path)
    except SourceError as error:
        trouble = error.what
    except Exception as error:  # a reader that crashes is a finding of its own
        trouble = f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    here = [one for one in found if one.code in CODES and os.path.normpath(one.site.path) == path]
    return Reading(here, time.process_time() - began, trouble)


def _give_up(*_: object) -> None:
    raise TimeoutError(f"not done in {PATIENCE} s of CPU")


def faults(cases: list[Case], mirrors: Path, home: Path) -> Iterator[tuple[Case, str, str]]:
    """Each case with what the old and the new reader say of it; of a correct loop, the codes that accuse it."""
    grouped: dict[Snapshot, list[Case]] = defaultdict(list)
    for case in cases:
        if case.is_correct or BUGS[case.kind] & CODES:
            grouped[Snapshot(case.repo, case.commit)].append(case)
    for snapshot, here in grouped.items():
        folder = kept(mirrors, snapshot, home)
        if folder is None or not all((folder / case.path).exists() for case in here):
            print(f"  trouble: {snapshot.repo}: not in the mirrors")
            continue
        os.chdir(folder)
        readers = Readers()
        said = {path: readers.read(path) for path in sorted({case.path for case in here})}
        for case in here:
            old, new = (_told(case, said[case.path][name]) for name in READERS)
            yield case, old, new
        for path, readings in said.items():
            _complain(snapshot, path, readings)


def _told(case: Case, reading: Reading) -> str:
    lines = function_lines(Path(case.path), case.line)
    if not case.is_correct:
        return reading.answer(BUGS[case.kind] & CODES, lines)
    excused = set().union(*(BUGS[kind] for kind in case.also))
    accusing = [one for one in reading.findings if _accuses(one) and one.site.line in lines and one.code not in excused]
    return ", ".join(f"{one.code} line {one.site.line}" for one in accusing) or "silent"


def _accuses(finding: Finding) -> bool:
    return finding.certainty is Certainty.CERTAIN and finding.severity is not Severity.NOTE


def _complain(snapshot: Snapshot, path: str, readings: dict[str, Reading]) -> None:
    for name, reading in readings.items():
        if reading.trouble:
            print(f"  trouble: {name}: {snapshot.repo} {path}: {reading.trouble[:150]}")
        if reading.seconds > SLOW:
            print(f"  slow: {name}: {reading.seconds:.1f} s: {snapshot.repo} {path}", flush=True)


def recall(cases: list[Case], mirrors: Path, home: Path) -> None:
    rows: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: {name: Counter() for name in READERS})
    for case, old, new in faults(cases, mirrors, home):
        if case.is_correct:
            if new != "silent" or old != "silent":
                print(f"  correct: {case.repo} {case.path}:{case.line} ({case.kind}): old {old}; new {new}", flush=True)
            continue
        rows[case.kind]["old"][old] += 1
        rows[case.kind]["new"][new] += 1
        if old != new or new != "certain":
            print(f"  {old:8} -> {new:8} {case.repo} {case.path}:{case.line} ({case.kind})", flush=True)
    heads = "   ".join(f"{name + ': certain':>12} {'possible':>8} {'missed':>6}" for name in READERS)
    print(f"{'':30} {heads}")
    total = {name: sum((row[name] for row in rows.values()), Counter[str]()) for name in READERS}
    for kind, row in [*sorted(rows.items()), ("all", total)]:
        old, new = (f"{row[name]['certain']:12} {row[name]['possible']:8} {row[name]['missed']:6}" for name in READERS)
        print(f"{kind:30} {old}   {new}")


def repositories(snapshots: list[Snapshot], mirrors: Path, home: Path) -> None:
    """Every certain finding that one reader has and the other has not; and how many both have."""
    for snapshot in snapshots:
        folder = kept(mirrors, snapshot, home)
        if folder is None:
            print(f"  trouble: {snapshot.repo}: not in the mirrors")
            continue
        os.chdir(folder)
        readers, shared, spent = Readers(), 0, Counter[str]()
        paths = [str(path.relative_to(folder)) for path in folder.rglob("*") if path.suffix in (".py", ".ipynb")]
        for path in sorted(path for path in paths if may_train(read_text(path))):
            readings = readers.read(path)
            _complain(snapshot, path, readings)
            found = {
                name: {(one.site.cell, one.site.line, one.code) for one in reading.findings if _accuses(one)}
                for name, reading in readings.items()
            }
            shared += len(found["old"] & found["new"])
            for name, reading in readings.items():
                spent[name] += round(1000 * reading.seconds)
                other = found[READERS[name == "old"]]
                for cell, line, code in sorted(found[name] - other, key=str):
                    print(f"  {name} alone: {snapshot.repo} {path}:{f'{cell}:' * bool(cell)}{line} {code}", flush=True)
        print(
            f"{snapshot.repo}: both {shared}; " + ", ".join(f"{name} {ms / 1000:.1f} s" for name, ms in spent.items())
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facts", type=Path, required=True, help="a folder with cases.jsonl and repos.json")
    parser.add_argument("--mirrors", type=Path, required=True)
    parser.add_argument("--kept", type=Path, default=Path(tempfile.gettempdir()) / "zerograd-known")
    parser.add_argument("--repo", default="", help="only repositories with this in their name")
    parser.add_argument("--repositories", action="store_true")
    parser.add_argument("--codes", nargs="*", default=[], help="other codes beside those, such as ZG101")
    parser.add_argument("--kinds", nargs="*", default=[""], help="only faults whose kind begins so")
    options = parser.parse_args()
    CODES.update(options.codes)
    options.kept.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGVTALRM, _give_up)
    mirrors, home = options.mirrors.resolve(), options.kept.resolve()
    if options.repositories:
        repositories([one for one in read_repositories(options.facts) if options.repo in one.repo], mirrors, home)
    else:
        cases = [one for one in read_cases(options.facts) if options.repo in one.repo]
        recall([one for one in cases if one.kind.startswith(tuple(options.kinds))], mirrors, home)


if __name__ == "__main__":
    main()
