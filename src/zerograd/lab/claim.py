"""What a claim is: a statement, the loops it speaks about, a measurement, and a verdict computed from it."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from zerograd.errors import unknown
from zerograd.lab.loops import Loop

Measured = dict[str, Any]  # what an experiment found, by name: numbers and lists of them, as JSON takes them


class Ruling(Enum):
    HOLDS = "holds"
    HOLDS_IF = "holds_if"  # under the condition that the verdict names
    DOES_NOT_HOLD = "does_not_hold"


class Verdict(NamedTuple):
    ruling: Ruling
    condition: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    id: str
    statement: str
    buggy: tuple[Loop, ...] = ()  # loops that the claim warns of: the tools must see them
    measure: Callable[[], Measured]
    judge: Callable[[Measured], Verdict]
    shown: Callable[[Measured], str]  # the number that settles it, in a few words
    advice: str


def load_claims(ids: list[str]) -> list[Claim]:
    """The claims named, or all of them, in order."""
    files = sorted((Path(__file__).parent / "claims").glob("c[0-9]*.py"))
    claims: dict[str, Claim] = {}
    for file in files:
        claim = import_module(f"zerograd.lab.claims.{file.stem}").CLAIM
        claims[claim.id] = claim
    for given in ids:
        if given.upper() not in claims:
            raise unknown("claim", given, list(claims), slug="unknown-claim")
    wanted = [given.upper() for given in ids]
    return [claim for claim in claims.values() if not wanted or claim.id in wanted]
