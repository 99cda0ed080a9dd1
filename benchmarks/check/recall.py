"""How many known bugs a checker finds, by kind, and how many correct loops it flags."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from answers import BUGS, answers, speaks_of_gradients
from corpus import Case, Snapshot, laid_out
from tools import Found, Tool

_EVERYWHERE = range(1 << 31)


class Result(NamedTuple):
    """What a checker said inside the function of one case."""

    case: Case
    findings: list[Found]

    @property
    def answering(self) -> list[Found]:
        return [found for found in self.findings if answers(found.code, BUGS[self.case.kind])]

    @property
    def is_certain(self) -> bool:
        return any(found.certain for found in self.answering)

    @property
    def false(self) -> list[Found]:
        """In a correct loop: what fails the check, unless the file is known to have that fault as well."""
        excused = set().union(*(BUGS[kind] for kind in self.case.also))
        return [
            found
            for found in self.findings
            if found.fails and speaks_of_gradients(found.code) and not answers(found.code, excused)
        ]


class Recall(NamedTuple):
    results: list[Result]
    troubles: list[str]

    def bugs(self) -> list[Result]:
        return [result for result in self.results if not result.case.is_correct]

    def correct(self) -> list[Result]:
        return [result for result in self.results if result.case.is_correct]


def measure(tool: Tool, cases: list[Case], mirrors: Path) -> Recall:
    grouped: dict[Snapshot, list[Case]] = defaultdict(list)
    for case in cases:
        grouped[Snapshot(case.repo, case.commit)].append(case)
    results: list[Result] = []
    troubles: list[str] = []
    for snapshot, here in grouped.items():
        with laid_out(mirrors, snapshot, notebooks=True) as folder:
            if folder is None or not all((folder / case.path).exists() for case in here):
                troubles.append(f"{snapshot.repo}: not in the mirrors")
                continue
            answer = tool.check(folder, sorted({case.path for case in here}))
            troubles += [f"{snapshot.repo}: {answer.trouble}"] * bool(answer.trouble)
            results += [Result(case, _inside(answer.findings, case, folder)) for case in here]
    return Recall(results, troubles)


def lines(tool: Tool, recall: Recall) -> Iterator[str]:
    bugs, correct = recall.bugs(), recall.correct()
    for kind in sorted({result.case.kind for result in bugs}):
        some = [result for result in bugs if result.case.kind == kind]
        certain = sum(result.is_certain for result in some)
        found = sum(bool(result.answering) for result in some)
        yield f"{kind:32} certain {certain:2}  possible {found - certain:2}  of {len(some)}"
    certain = sum(result.is_certain for result in bugs)
    found = sum(bool(result.answering) for result in bugs)
    flagged = [result for result in correct if result.false]
    yield f"{tool.name}: bugs certain {certain}/{len(bugs)}, certain or possible {found}/{len(bugs)}"
    yield f"{tool.name}: correct loops flagged {len(flagged)}/{len(correct)}"
    for result in flagged:
        told = ", ".join(f"{found.code} line {found.line}" for found in result.false)
        yield f"  flagged: {result.case.repo} {result.case.path} ({result.case.kind}): {told}"
    yield from (f"  trouble: {trouble}" for trouble in recall.troubles)


def _inside(findings: list[Found], case: Case, folder: Path) -> list[Found]:
    scope = function_lines(folder / case.path, case.line)
    return [found for found in findings if found.path == case.path and found.line in scope]


def function_lines(file: Path, line: int) -> range:
    """The lines of the innermost function around a line; the whole file where there is none."""
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):
        return _EVERYWHERE
    functions = (node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))
    spans = [range(node.lineno, (node.end_lineno or node.lineno) + 1) for node in functions]
    return min((span for span in spans if line in span), key=len, default=_EVERYWHERE)
