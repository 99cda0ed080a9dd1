"""A first look through a trace: how much there is, and everything that is no event.

Findings, names and late numbers may stand anywhere in the file; whoever walks through the events wants them beforehand.
"""

import json
from array import array
from collections.abc import Mapping
from operator import index
from typing import Any, NamedTuple

from zerograd.core.findings import Finding
from zerograd.trace.coverage import Coverage
from zerograd.trace.findings import from_line
from zerograd.trace.reading import Opened, numbers_of

_EVENT = '{"kind"'  # how the lines of events begin, as TraceWriter writes them


class Found(NamedTuple):
    """A finding, and the numbers of the events at which it was made."""

    finding: Finding
    events: "array[int]"
    slot: str | None = None  # the optimizer whose event was the first of these


class Survey(NamedTuple):
    events: int
    groups: dict[str, list[list[str]]]  # of each optimizer, the names of the parameters in its groups
    sets: dict[int, frozenset[int]]
    found: list[Found]
    late: dict[int, tuple[tuple[str, float], ...]]  # numbers of events that were read after they were written
    called: dict[str, str]  # what the program calls an optimizer, where that is known
    coverage: list[Coverage]  # what was not judged, as the trace says again and again: the last counts


def survey(trace: Opened) -> Survey:
    known = Survey(0, {}, {}, [], {}, {}, [])
    events = 0
    with open(trace.path, encoding="utf-8", errors="replace", newline="\n") as file:
        next(file)
        for text in file:
            if text.startswith(_EVENT):
                events += text.endswith("}\n")  # else it is torn
                continue
            try:
                line = json.loads(text)
            except (ValueError, RecursionError):
                break  # torn
            if isinstance(line, dict) and "kind" in line:
                events += 1
            elif isinstance(line, dict):
                _take(known, line)
    return known._replace(events=events)


def _take(known: Survey, line: Mapping[str, Any]) -> None:
    try:
        if "optimizer" in line:
            known.groups[line["optimizer"]] = [[str(name) for name in group] for group in line["groups"]]
            known.called[line["optimizer"]] = str(line.get("called", ""))
        elif "set" in line:
            known.sets[line["set"]] = frozenset(map(index, line["slots"]))
        elif "finding" in line:
            if line["finding"] == len(known.found):
                known.found.append(Found(from_line(line), array("q"), line.get("slot")))
            known.found[line["finding"]].events.append(max(0, line["event"]))
        elif "unaudited" in line:
            counts = {str(why): index(count) for why, count in line["unaudited"].items()}
            known.coverage[:] = [Coverage.of(index(line["steps"]), counts)]
        elif "of" in line:
            known.late[line["of"]] = known.late.get(line["of"], ()) + numbers_of(line["numbers"])
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError):
        return  # a line of a later zerograd, which says more than we know
