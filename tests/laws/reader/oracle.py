"""Law 3: the run is the oracle. What a reader is sure of, every run shows; what a run shows, the reader thinks
possible.

`told(seen)` puts what a driven program did into the questions of a world, by line: what a step holds, what a backward
reaches, what a clear empties, which values have a graph, what one step's window contains. A reader puts its own
answers into `Claims`, and `violations` compares the two. Lines are those of the innermost call, as a reader places an
event.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from laws.reader.driver.probe import Maker, Seen
from zerograd.core.events import Kind

# A maker is a line, or for what comes from outside its way in: "train(model)" the parameter of a root, "Trainer(model)"
# of a constructor, "Trainer.model" an attribute that nobody sets, "model" a name that nobody binds.
Region = tuple[Maker, str]  # what a line or a root's parameter made, and a path in it: "" is the whole


class Told(NamedTuple):
    """One program's run, as answers. Each list has one entry for each time that the line did it."""

    held: Mapping[int, list[frozenset[int]]]
    reached: Mapping[int, list[frozenset[int]]]
    cleared: Mapping[int, list[frozenset[int]]]
    live: Mapping[tuple[int, str], frozenset[bool]]
    window: Mapping[
        int, list[Mapping[Kind, int]]
    ]  # what befell the parameters of a step since its optimizer's last one
    regions: Mapping[
        Region, list[frozenset[int]]
    ]  # the parameters of each region, once for each thing that the line made

    @property
    def answers(self) -> Counter[str]:
        """How many places each question is answered at."""
        return Counter({name: len(getattr(self, name)) for name in ("held", "reached", "cleared", "live", "window")})


class Bounds(NamedTuple):
    sure: frozenset[Region]
    may: frozenset[Region] | None  # None: anything


class Claims(NamedTuple):
    """What a reader says of a program. A line it says nothing about is not in the table."""

    held: Mapping[int, Bounds] = {}
    reached: Mapping[int, Bounds] = {}
    cleared: Mapping[int, Bounds] = {}
    live: Mapping[tuple[int, str], bool] = {}  # True: has a graph, whenever it is bound there; False: never has
    window: Mapping[int, Mapping[Kind, tuple[int, int | None]]] = {}  # fewest and most for one step


class Violation(NamedTuple):
    question: str
    line: int
    told: str


def trains(seen: Seen) -> bool:
    """Whether a run deposited or consumed anything: what the driver is for."""
    return any(moment.kind in (Kind.DEPOSIT, Kind.CONSUME) for moment in seen.moments)


def told(seen: Seen) -> Told:
    by_kind: dict[Kind, dict[int, list[frozenset[int]]]] = defaultdict(lambda: defaultdict(list))
    for moment in seen.moments:
        by_kind[moment.kind][moment.lines[0]].append(moment.parameters)
    return Told(
        by_kind[Kind.CONSUME], by_kind[Kind.DEPOSIT], by_kind[Kind.CLEAR], seen.live, _windows(seen), _regions(seen)
    )


def as_json(run: Told) -> dict[str, object]:
    """The same as plain data: parameters as numbers, regions as `maker:path`."""

    def listed(times: Mapping[int, list[frozenset[int]]]) -> dict[int, list[list[int]]]:
        return {line: [sorted(one) for one in found] for line, found in times.items()}

    return {
        "held": listed(run.held),
        "reached": listed(run.reached),
        "cleared": listed(run.cleared),
        "live": {f"{line}:{name}": sorted(found) for (line, name), found in run.live.items()},
        "window": {line: [{k.value: n for k, n in one.items()} for one in found] for line, found in run.window.items()},
        "regions": {f"{maker}:{path}": [sorted(one) for one in found] for (maker, path), found in run.regions.items()},
    }


def _windows(seen: Seen) -> dict[int, list[Mapping[Kind, int]]]:
    """For each step, how many events of each kind hit what it holds since its optimizer stepped last."""
    found: dict[int, list[Mapping[Kind, int]]] = defaultdict(list)
    last: dict[int | None, int] = {}
    for at, moment in enumerate(seen.moments):
        if moment.kind is Kind.CONSUME:
            since = seen.moments[last.get(moment.optimizer, -1) + 1 : at]
            found[moment.lines[0]].append(Counter(one.kind for one in since if one.parameters & moment.parameters))
            last[moment.optimizer] = at
    return found


def _regions(seen: Seen) -> dict[Region, list[frozenset[int]]]:
    """Every module that a line made, and every part of one, with its parameters."""
    whole: dict[tuple[Maker, int], dict[str, int]] = defaultdict(dict)
    for parameter, names in seen.names.items():
        for maker, nth, path in names:
            whole[maker, nth][path] = parameter
    found: dict[Region, list[frozenset[int]]] = defaultdict(list)
    for (maker, _), paths in sorted(whole.items(), key=str):
        ends = {".".join(path.split(".")[:size]) for path in paths for size in range(len(path.split(".")) + 1)}
        for end in ends:
            inside = (number for path, number in paths.items() if not end or f"{path}.".startswith(f"{end}."))
            found[maker, end].append(frozenset(inside))
    return found


def violations(run: Told, claims: Claims) -> Iterator[Violation]:
    """Every answer of a reader that this run contradicts."""
    for question in ("held", "reached", "cleared"):
        bounds: Mapping[int, Bounds] = getattr(claims, question)
        for line, times in getattr(run, question).items():
            if line in bounds:
                yield from _outside(question, line, times, bounds[line], run.regions)
    for place, graph in claims.live.items():
        if run.live.get(place, frozenset({graph})) != {graph}:
            yield Violation("live", place[0], f"{place[1]} {'has not' if graph else 'has'} always a graph")
    for line, limits in claims.window.items():
        for kind, (fewest, most) in limits.items():
            for window in run.window.get(line, ()):
                if window[kind] < fewest or (most is not None and window[kind] > most):
                    yield Violation("window", line, f"{window[kind]} of {kind.value}, not {fewest} to {most}")


def _outside(
    question: str,
    line: int,
    times: list[frozenset[int]],
    bounds: Bounds,
    regions: Mapping[Region, list[frozenset[int]]],
) -> Iterator[Violation]:
    known = [one for (maker, _), things in regions.items() if isinstance(maker, int) for one in things]
    for seen in dict.fromkeys(times):
        if not seen <= frozenset().union(*known):
            continue  # the driver has handed its own things to a function that the reader enters from its callers
        for region in bounds.sure:
            things = regions.get(region, ())
            if things and not any(parameters <= seen for parameters in things):
                yield Violation(question, line, f"sure of {region}, which was not all there")
        if bounds.may is not None:
            allowed = frozenset().union(*(part for region in bounds.may for part in regions.get(region, ())))
            if not seen <= allowed:
                yield Violation(question, line, f"{len(seen - allowed)} parameters that were thought impossible")
