"""C22: most projects and the official examples clear at the top of the loop."""

from pathlib import Path

from matplotlib.figure import Figure

from zerograd.lab.claim import Claim, Measured, Ruling, Verdict, load_claims
from zerograd.lab.figure import FAINT, GOOD, bars
from zerograd.lab.placement import Place, asked_for, count_files, places

# Counted by hand-checked reading of 902 functions that call backward(), in 40 well-known public repositories.
REPOSITORIES, FUNCTIONS = 40, 902
COUNTED = {Place.TOP.value: 40, Place.BEFORE.value: 37, Place.AFTER.value: 21}  # percent
_EXAMPLES = Path(__file__).parents[4] / "examples"  # in a clone; a wheel has none


def _live() -> dict[str, dict[str, int]]:
    """What the same reading counts here: the lab's own loops, the examples, and what the user has asked for."""
    texts = {loop.text for claim in load_claims([]) for bug in claim.bugs for loop in (bug.loop, bug.right)}
    found = {"the lab's own loops": [place for text in texts for place in places(text)]}
    for path in (*([str(_EXAMPLES)] if _EXAMPLES.is_dir() else []), *asked_for()):
        found[Path(path).name or path] = list(count_files(path).elements())
    return {name: {place.value: seen.count(place) for place in Place} for name, seen in found.items()}


def measure() -> Measured:
    return {
        "repositories": REPOSITORIES,
        "functions with backward()": FUNCTIONS,
        "percent of them, by where they clear": dict(COUNTED),
        "counted here, just now": _live(),
    }


def judge(measured: Measured) -> Verdict:
    shares = measured["percent of them, by where they clear"]
    top = shares[Place.TOP.value]
    first = max(shares, key=shares.__getitem__)
    if top > 50:
        return Verdict(Ruling.HOLDS)
    if first == Place.TOP.value:
        return Verdict(
            Ruling.HOLDS_IF,
            f"'most' means 'more than anywhere else': {top}% clear at the top, {shares[Place.BEFORE.value]}% just "
            f"before backward, {shares[Place.AFTER.value]}% after the step. As 'more than half' it fails.",
        )
    return Verdict(Ruling.DOES_NOT_HOLD, f"the commonest place is {first}")


def shown(measured: Measured) -> str:
    shares = ", ".join(f"{name} {share}%" for name, share in measured["percent of them, by where they clear"].items())
    live = "; ".join(
        f"{where}: {counts[Place.TOP.value]} of {sum(counts.values())} at the top"
        for where, counts in measured["counted here, just now"].items()
        if any(counts.values())
    )
    return (
        f"{shares} of {measured['functions with backward()']} functions in {measured['repositories']} repositories "
        f"(counted once, not on this machine). Counted just now: {live}"
    )


def draw(figure: Figure, measured: Measured) -> None:
    figure.set_size_inches(4.8, 2.2)
    axes = figure.subplots()
    bars(axes, measured["percent of them, by where they clear"], form="{:.0f}%", colours=(GOOD, FAINT, FAINT))
    axes.set(xlabel=f"share of {measured['functions with backward()']} functions with backward() (%)")


CLAIM = Claim(
    id="C22",
    statement="Most projects and the official examples clear at the top of the loop",
    measure=measure,
    judge=judge,
    shown=shown,
    draw=draw,
    see="The top is the commonest place, by a little, and less than half of all.",
    advice="Do what your project does; all three are right in a plain loop. The top protects most (C03, C06). "
    "Count your own: `zerograd lab C22 --count PATH`.",
)
