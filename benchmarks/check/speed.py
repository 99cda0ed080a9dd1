"""What a checker costs beside what Python needs to parse the same files, and beside other checkers.

usage: python benchmarks/check/speed.py FOLDER [--repeats N] [--training N] [--slowest N] [--everything]
                                        [--dslinter PYLINT] [--torchfix COMMAND]

Every repeat runs every command once, cold and in one process, and takes its CPU time; the figures are medians of the
ratios within one repeat, so that what else the machine does falls on all of them alike. Cold is without known findings,
but with the bytecode that pip leaves, also where the environment keeps Python from writing any. `--training N` takes
only N random files that train (seed 0). `--slowest N` names the files that took longest, timed one by one.
"""

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from compileall import compile_dir
from contextlib import suppress
from pathlib import Path

from tools import Tool, add_options, chosen, named_files, timed

from zerograd.errors import SourceError
from zerograd.source import check
from zerograd.source.files.discover import read_text
from zerograd.source.project.files import Project
from zerograd.source.relevance import may_train

_PARSE = """
import ast, sys, warnings
warnings.simplefilter("ignore")  # invalid escapes in other people's strings
for path in sys.argv[1:]:
    try:
        ast.parse(open(path, "rb").read())
    except (SyntaxError, ValueError, RecursionError):
        pass
"""


def lines(tools: Sequence[Tool], folder: Path, targets: Sequence[str], *, repeats: int) -> Iterator[str]:
    """The first tool's time over that of ast.parse; every other tool's time over the first's."""

    def parse() -> float:
        return timed([sys.executable, "-c", _PARSE, *targets], folder)[1]

    def runner(tool: Tool) -> Callable[[], float]:
        return lambda: tool.check(folder, targets).seconds

    runs = {"ast.parse": parse, **{tool.name: runner(tool) for tool in tools}}
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            taken[name].append(run())
    yield f"{len(targets)} files, {repeats} repeats, medians of CPU seconds:"
    for name, seconds in taken.items():
        yield f"  {name:36} {statistics.median(seconds):8.2f} s"
    first = tools[0].name
    yield f"  {first} over ast.parse: {_ratio(taken[first], taken['ast.parse'])}"
    for tool in tools[1:]:
        yield f"  {tool.name} over {first}: {_ratio(taken[tool.name], taken[first])}"


def training_files(folder: Path, count: int | None = None) -> list[str]:
    """The files that a checker of gradients has to read; a random `count` of them."""
    named = [path for path in named_files(folder) if may_train((folder / path).read_text("utf-8", "replace"))]
    return named if count is None else sorted(random.Random(0).sample(named, min(count, len(named))))


def slowest(folder: Path, targets: Sequence[str], count: int) -> Iterator[str]:
    project = Project(str(folder))
    each: list[tuple[float, str]] = []
    for target in targets:
        begin = time.process_time()
        with suppress(SourceError):
            check.check_text(read_text(str(folder / target)), str(folder / target), project=project)
        each.append((time.process_time() - begin, target))
    yield from (f"  {seconds:.2f} s  {target}" for seconds, target in sorted(each, reverse=True)[:count])


def _ratio(above: list[float], below: list[float]) -> str:
    ratios = [one / other for one, other in zip(above, below, strict=True)]
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--training", type=int, metavar="N")
    parser.add_argument("--everything", action="store_true", help="with --possible --notes, and the fixes of notes")
    parser.add_argument("--slowest", type=int, metavar="N", default=0)
    add_options(parser)
    options = parser.parse_args()
    compile_dir(str(Path(check.__file__).parents[1]), quiet=2)
    targets = training_files(options.folder, options.training) if options.training else named_files(options.folder)
    for line in lines(chosen(options, everything=options.everything), options.folder, targets, repeats=options.repeats):
        print(line, flush=True)
    if options.slowest:
        print(*slowest(options.folder, targets, options.slowest), sep="\n")


if __name__ == "__main__":
    main()
