"""Law 4, second half: what puts files aside before they are read never puts a faulty case program aside, however it is
renamed or rewritten."""

from collections.abc import Callable, Iterable, Iterator

from laws.reader.corpus import Case
from laws.reader.metamorphic import parses
from laws.reader.rewrites import REWRITES, rewritten
from zerograd.source.relevance import may_train

Trigger = Callable[[str], bool]


def put_aside(cases: Iterable[Case], trigger: Trigger = may_train) -> Iterator[tuple[str, str]]:
    """Each faulty program that is not read, with the rewrite that made it so; "" for the program as it stands."""
    for case in cases:
        if case.is_correct or not parses(case):
            continue
        if not trigger(case.text):
            yield case.name, ""
            continue
        for name, rewrite in REWRITES.items():
            done = rewritten(case.text, rewrite)
            if done is not None and not any(trigger(text) for text in done.files.values()):
                yield case.name, name
