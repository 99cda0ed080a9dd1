"""What a claim is: a statement, the loops it warns of, a measurement, and a verdict computed from it."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from zerograd.errors import unknown
from zerograd.lab.meeting import Bug

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Measured = dict[
    str, Any
]  # what an experiment found, by name: numbers, and lists and tables of them, as JSON takes them


class Ruling(Enum):
    HOLDS = "holds"
    HOLDS_IF = "holds_if"  # under the condition that the verdict names
    DOES_NOT_HOLD = "does_not_hold"

    @property
    def words(self) -> str:
        return self.value.replace("_", " ")


class Verdict(NamedTuple):
    ruling: Ruling
    condition: str = ""  # when it holds and when it fails, with the numbers of this run

    @property
    def told(self) -> str:
        """Behind the ruling's words, so that both read as one sentence."""
        if not self.condition:
            return ""
        return f"{'' if self.ruling is Ruling.HOLDS_IF else ':'} {self.condition}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    id: str
    statement: str
    bugs: tuple[Bug, ...] = ()  # loops that the claim warns of: the tools must see them, and Step must not have them
    measure: Callable[[], Measured]
    judge: Callable[[Measured], Verdict]  # reads nothing but what was measured
    shown: Callable[[Measured], str]  # the numbers that settle it, in a few words
    draw: Callable[["Figure", Measured], None]
    see: str  # what to see in the figure, in one sentence
    advice: str  # what to do, in one paragraph


def load_claims(ids: list[str]) -> list[Claim]:
    """The claims named, or all of them, in order."""
    files = {file.stem[:3].upper(): file.stem for file in (Path(__file__).parent / "claims").glob("c[0-9]*.py")}
    wanted = [_id(given) for given in ids] or list(files)
    for given, name in zip(ids, wanted, strict=False):
        if name not in files:
            raise unknown("claim", given, sorted(files), slug="unknown-claim")
    claims = [import_module(f"zerograd.lab.claims.{files[name]}").CLAIM for name in sorted(set(wanted))]
    assert all(isinstance(claim, Claim) for claim in claims)
    return claims


def _id(given: str) -> str:
    """What people type for C05: c05, C5, 5."""
    number = given.upper().removeprefix("C")
    return f"C{number:0>2}" if number.isdecimal() else given
