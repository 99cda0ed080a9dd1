"""Law 1: rewriting a program without changing what it does changes no certain error or warning.

A finding is followed by its line: it is kept if the rewritten program has one of the same code at a place that stands
for that line. Where role words were renamed too, a finding may become possible; it may not vanish, and none may appear.
"""

import ast
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from laws.reader.corpus import Case
from laws.reader.readers import MAIN, Answer, Found, Place, Reader
from laws.reader.rewrites import Rewrite, rewritten
from laws.reader.rewrites.origins import untouched


class Change(NamedTuple):
    """What one rewrite of one program changed."""

    case: str
    kept: frozenset[Found]  # named by their places in the program before
    doubted: frozenset[Found]  # certain before, possible now
    vanished: frozenset[Found]
    new: frozenset[Found]
    was_correct: bool  # marked as correct, and silent before

    @property
    def accused(self) -> bool:
        return self.was_correct and bool(self.new)


class Original(NamedTuple):
    """A case as it is printed when nothing is rewritten, and what the reader says of it."""

    case: Case
    text: str
    certain: frozenset[Found]


def originals(cases: Iterable[Case], reader: Reader, codes: Collection[str] = ()) -> list[Original]:
    found = []
    for case in cases:
        text = untouched(case.text).files[MAIN]
        found.append(Original(case, text, _chosen(reader({MAIN: text}), codes).certain))
    return found


def changes(
    programs: Iterable[Original], rewrite: Rewrite, reader: Reader, codes: Collection[str] = ()
) -> Iterator[Change]:
    """One for each program that the rewrite applies to."""
    for case, text, before in programs:
        after_rewrite = rewritten(text, rewrite)
        if after_rewrite is None:
            continue
        after = _chosen(reader(after_rewrite.files), codes)
        images = {one: _image(one, after_rewrite.places) for one in before}
        kept = frozenset(one for one in before if images[one] & after.certain)
        doubted = frozenset(one for one in before - kept if images[one] & after.possible)
        explained: frozenset[Found] = frozenset().union(*images.values())
        yield Change(
            case.name, kept, doubted, before - kept - doubted, after.certain - explained, case.is_correct and not before
        )


def _image(found: Found, places: Mapping[int, frozenset[Place]]) -> frozenset[Found]:
    """The same finding at every place that stands for its line."""
    return frozenset(Found(place, found.code) for place in places.get(found.place[1], ()))


def _chosen(answer: Answer, codes: Collection[str]) -> Answer:
    return Answer(*(frozenset(one for one in part if not codes or one.code in codes) for part in answer))


class Score(NamedTuple):
    """One rewrite over all programs."""

    programs: int
    had: int
    kept: int
    doubted: int
    vanished: int
    new: int
    accused: int
    correct: int
    by_code: Mapping[str, tuple[int, int, int]]  # certain before, kept, new

    @property
    def share(self) -> float:
        return self.kept / self.had if self.had else 1.0

    def meets(self, *, roles_renamed: bool) -> bool:
        """The bars of the law."""
        held = not self.vanished if roles_renamed else self.share >= 0.98
        return held and not self.new and not self.accused


def score(found: Iterable[Change]) -> Score:
    found = list(found)
    kept, doubted, vanished, new = (
        sum(len(getattr(one, part)) for one in found) for part in ("kept", "doubted", "vanished", "new")
    )
    parts: dict[str, Counter[str]] = {part: Counter() for part in ("had", "kept", "new")}
    for one in found:
        parts["had"].update(each.code for each in one.kept | one.doubted | one.vanished)
        parts["kept"].update(each.code for each in one.kept)
        parts["new"].update(each.code for each in one.new)
    codes = sorted(parts["had"].keys() | parts["new"].keys())
    return Score(
        programs=len(found), had=kept + doubted + vanished, kept=kept, doubted=doubted, vanished=vanished, new=new,
        accused=sum(one.accused for one in found), correct=sum(one.was_correct for one in found),
        by_code={code: (parts["had"][code], parts["kept"][code], parts["new"][code]) for code in codes},
    )  # fmt: skip


def parses(case: Case) -> bool:
    """Whether this Python reads it: some cases are Python 2, on purpose."""
    try:
        ast.parse(case.text)
    except SyntaxError:
        return False
    return True
