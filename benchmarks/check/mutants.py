"""How many mutants of correct real loops a checker notices, with the right code."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from answers import MUTANTS, answers
from breakage import Mutant, mutants
from corpus import Snapshot, laid_out
from tools import Answer, Found, Tool


class Planted(NamedTuple):
    """A mutant, written beside its original: its imports lead where they led, and one run checks them all."""

    mutant: Mutant
    original: str
    path: str


def lines(tool: Tool, repositories: list[Snapshot], mirrors: Path) -> Iterator[str]:
    made: Counter[str] = Counter()
    noticed: Counter[str] = Counter()
    flagged: set[tuple[str, str, str]] = set()
    for snapshot in repositories:
        with laid_out(mirrors, snapshot) as folder:
            if folder is None:
                yield f"  trouble: {snapshot.repo}: not in the mirrors"
                continue
            planted = _plant(folder)
            targets = sorted({path for each in planted for path in (each.original, each.path)})
            answer = tool.check(folder, targets) if targets else Answer([], 0.0)
        if answer.trouble:
            yield f"  trouble: {snapshot.repo}: {answer.trouble}"
        for each in planted:
            kind, function, span, _ = each.mutant
            if any(found.line in span for found in _on(answer.findings, each.original)):
                flagged.add((snapshot.repo, each.original, function))
                continue
            made[kind] += 1
            if any(
                found.line in span and answers(found.code, MUTANTS[kind]) for found in _on(answer.findings, each.path)
            ):
                noticed[kind] += 1
            else:
                yield f"  missed: {kind}: {snapshot.repo} {each.original}:{span[0]} {function}"
    yield from (f"{kind:24} {noticed[kind]}/{made[kind]}" for kind in MUTANTS if made[kind])
    share = noticed.total() / max(made.total(), 1)
    yield (
        f"{tool.name}: mutants found {noticed.total()}/{made.total()} = {share:.1%}; "
        f"functions left out because the original is flagged: {len(flagged)}"
    )


def _plant(folder: Path) -> list[Planted]:
    planted: list[Planted] = []
    for file in sorted(file for file in folder.rglob("*.py") if b".backward(" in file.read_bytes()):
        original = str(file.relative_to(folder))
        for number, mutant in enumerate(mutants(file.read_text(encoding="utf-8", errors="replace"))):
            path = file.with_name(f"{file.stem}_mutant{number}.py")
            path.write_text(mutant.text, encoding="utf-8")
            planted.append(Planted(mutant, original, str(path.relative_to(folder))))
    return planted


def _on(findings: list[Found], path: str) -> list[Found]:
    return [found for found in findings if found.path == path and found.fails]
