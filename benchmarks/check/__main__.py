"""The whole measurement of `zerograd check` on public code.

usage: python benchmarks/check --facts DIR --mirrors DIR [--dslinter PYLINT] [--torchfix COMMAND] [PART ...]

--facts holds cases.jsonl and repos.json, --mirrors one git directory per repository (see corpus.py). The parts are
recall, repositories and mutants; all of them unless some are named. speed.py is called by itself, on any folder.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import mutants
import recall
import repositories
from corpus import read_cases, read_repositories
from tools import Tool, add_options, chosen

PARTS = ("recall", "repositories", "mutants")


def measured(part: str, tool: Tool, facts: Path, mirrors: Path) -> Iterator[str]:
    match part:
        case "recall":
            yield from recall.lines(tool, recall.measure(tool, read_cases(facts), mirrors))
        case "repositories":
            yield from repositories.lines(tool, read_repositories(facts), mirrors)
        case "mutants":
            yield from mutants.lines(tool, read_repositories(facts), mirrors)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--facts", type=Path, required=True)
    parser.add_argument("--mirrors", type=Path, required=True)
    add_options(parser)
    options = parser.parse_args()
    for part in options.parts or PARTS:
        for tool in chosen(options):
            print(f"\n== {part}: {tool.name}", flush=True)
            for line in measured(part, tool, options.facts, options.mirrors):
                print(line, flush=True)


if __name__ == "__main__":
    main()
