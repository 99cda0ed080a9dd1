"""How long `zerograd check` takes on a tree of real code, beside what Python needs to parse the same files.

usage: python benchmarks/check/speed.py FOLDER [--slowest N]

One process, cold, CPU time. The files are read beforehand, so that neither side pays for the disk.
"""

import argparse
import ast
import time
import warnings
from contextlib import suppress
from pathlib import Path

from zerograd.errors import SourceError
from zerograd.source.check import check_text


def parse_all(texts: list[tuple[str, str]]) -> float:
    begin = time.process_time()
    for _, text in texts:
        with suppress(SyntaxError, ValueError, RecursionError):
            ast.parse(text)
    return time.process_time() - begin


def check_all(texts: list[tuple[str, str]]) -> tuple[float, list[tuple[float, str]], int]:
    """The time in all, the time of each file, and the certain findings."""
    each: list[tuple[float, str]] = []
    findings = 0
    begin = time.process_time()
    for path, text in texts:
        start = time.process_time()
        with suppress(SourceError):
            findings += sum(finding.fails for finding in check_text(text, path))
        each.append((time.process_time() - start, path))
    return time.process_time() - begin, sorted(each, reverse=True), findings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--slowest", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # invalid escapes in other people's strings
    files = sorted(Path(options.folder).rglob("*.py"))
    texts = [(str(file), file.read_text(encoding="utf-8", errors="replace")) for file in files]
    checked, each, findings = check_all(texts)
    parsed = parse_all(texts)
    print(f"{len(files)} files, {findings} certain findings")
    print(f"ast.parse of all {parsed:.2f} s, check {checked:.2f} s: ratio {checked / parsed:.2f}")
    for seconds, path in each[: options.slowest]:
        print(f"  {seconds:.2f} s  {path}")


if __name__ == "__main__":
    main()
