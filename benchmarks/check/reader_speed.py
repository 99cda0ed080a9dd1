"""What the abstract run costs beside what Python needs to parse every file that it read.

    python benchmarks/check/reader_speed.py FOLDER ... [--cases] [--repeats 3] [--slowest 10] [--findings FILE]

Each folder is one project; of its files, those are checked that may train. Each repeat is a fresh process with the
garbage collector off, in which every file is checked in turn (of a project, each file is parsed once) and then every
file that was read is parsed once more, its tree dropped at once; the figures are the least of the repeats. `--cases`
takes the case programs, each a project of its own. `--findings` writes what was found, so that two versions of the
reader can be compared: a change for speed alone changes nothing there.
"""

import argparse
import ast
import gc
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from readers import cases

from zerograd.errors import SourceError
from zerograd.source.check import check_text
from zerograd.source.files.discover import read_text
from zerograd.source.files.tree import python_files_below
from zerograd.source.project.files import Project
from zerograd.source.relevance import may_train


class Cost(NamedTuple):
    """Of one folder: seconds for each file, seconds to parse everything that was read, and what was found."""

    files: dict[str, float]
    parse: float
    findings: dict[str, list[list[object]]]


def measure(folder: str, every: int = 1) -> Cost:
    """One repeat, in this process. `every`: only each so-manieth file."""
    gc.disable()
    warnings.simplefilter("ignore")  # invalid escapes in other people's strings
    seconds: dict[str, float] = {}
    findings: dict[str, list[list[object]]] = {}
    texts: list[str] = []
    for name, text, path, project in _programs(folder, every):
        began = time.process_time()
        found = []
        with suppress(SourceError):
            found = check_text(text, path, project=project)
        seconds[name] = time.process_time() - began
        findings[name] = [
            [str(one.site), one.code, one.certainty.value, one.severity.value, one.message, repr(one.related)]
            for one in found
        ]
        if not folder:
            texts.append(text)
        if len(seconds) % 20 == 0:
            gc.collect()  # nothing of it is counted
    if folder:
        texts = [file.text for file in project.files()]
    del project
    began = time.process_time()
    for text in texts:
        with suppress(SyntaxError, ValueError, RecursionError):
            ast.parse(text)
    return Cost(seconds, time.process_time() - began, findings)


def _programs(folder: str, every: int) -> Iterator[tuple[str, str, str, Project]]:
    if not folder:
        for case in list(cases())[::every]:
            yield case.name, case.text, "program.py", Project()
        return
    os.chdir(folder)
    project = Project(folder)
    training = []
    for path in sorted(python_files_below(folder)):
        with suppress(OSError, SourceError):
            text = read_text(path)
            if may_train(text):
                training.append((os.path.relpath(path, folder), text))
    for name, text in training[::every]:
        yield name, text, name, project


def least(folder: str, repeats: int, every: int) -> Cost:
    """The least of several repeats, each in a process of its own."""
    program = [sys.executable, __file__, "--one", folder, "--every", str(every)]
    runs = [
        Cost(*json.loads(subprocess.run(program, check=True, stdout=subprocess.PIPE, text=True).stdout))
        for _ in range(repeats)
    ]
    files = {name: min(run.files[name] for run in runs) for name in runs[0].files}
    return Cost(files, min(run.parse for run in runs), runs[0].findings)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--cases", action="store_true")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="check only each Nth file")
    parser.add_argument("--slowest", type=int, default=10)
    parser.add_argument("--findings", type=Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        json.dump(measure(options.one, options.every), sys.stdout)
        return
    costs: dict[str, Cost] = {}
    print(f"{'project':40} {'files':>6} {'reader':>9} {'parse':>9} {'times':>7} {'slowest':>9}")
    for folder in [*([""] if options.cases else []), *map(str, map(Path.resolve, options.folders))]:
        name = Path(folder).name or "case programs"
        cost = costs[name] = least(folder, options.repeats, options.every)
        if cost.files:
            _print(name, list(cost.files.values()), cost.parse)
    each = [second for cost in costs.values() for second in cost.files.values()]
    _print("all", each, sum(cost.parse for cost in costs.values()))
    ranked = [(second, name, file) for name, cost in costs.items() for file, second in cost.files.items()]
    for second, name, file in sorted(ranked, reverse=True)[: options.slowest]:
        print(f"  {second:.2f} s  {name}: {file}")
    if options.findings:
        found = {f"{name}: {file}": found for name, cost in costs.items() for file, found in cost.findings.items()}
        options.findings.write_text(json.dumps(found, indent=0, sort_keys=True))


def _print(name: str, seconds: list[float], parse: float) -> None:
    whole, longest = sum(seconds), max(seconds)
    print(f"{name:40} {len(seconds):6} {whole:7.2f} s {parse:7.2f} s {whole / parse:7.1f} {longest:7.2f} s", flush=True)


if __name__ == "__main__":
    main()
