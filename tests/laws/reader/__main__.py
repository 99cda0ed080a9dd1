"""Every figure of every law, for one reader: `make laws-reader`.

    python -m laws.reader [LAW ...] [--codes ZG001,ZG002] [--reader module:function] [--every N] [--show N]
                          [--rewrites 'into helpers'] [--claims module:function] [--record FILE] [--examples N]

A law that the reader fails is a figure, not a failure. The exit code is 1 only where a package has words that must have
none, and where a rewrite does not keep the meaning.
"""

import argparse
import importlib
import json
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from laws.reader.corpus import Case, cases
from laws.reader.metamorphic import Change, Original, Score, changes, originals, parses, score
from laws.reader.readers import MAIN, Found, Reader
from laws.reader.rewrites import REWRITES, ROLES_RENAMED

LAWS = ("words", "agreement", "meaning", "metamorphic", "oracle")


class Asked(NamedTuple):
    laws: tuple[str, ...]
    codes: frozenset[str]
    reader: Reader
    claims: str
    rewrites: tuple[str, ...]
    every: int
    show: int
    record: str
    examples: int


def main(arguments: list[str]) -> int:
    asked = _asked(arguments)
    failed = 0
    for law in asked.laws:
        begun = time.perf_counter()
        print(f"\n{law}", flush=True)
        failed |= _FIGURES[law](asked)
        print(f"  ({time.perf_counter() - begun:.0f} s)", flush=True)
    return failed


def _asked(arguments: list[str]) -> Asked:
    parser = argparse.ArgumentParser(prog="python -m laws.reader", description="Figures of the laws of a reader.")
    parser.add_argument("law", nargs="*", metavar="LAW", help=f"one of {', '.join(LAWS)}; all of them without")
    parser.add_argument("--codes", default="", help="count only findings with these codes: ZG001,ZG002")
    parser.add_argument("--reader", default="laws.reader.readers:present_reader", help="module:function")
    parser.add_argument(
        "--claims", default="laws.reader.claims:abstract_claims", help="module:function from files to oracle.Claims"
    )
    parser.add_argument("--rewrites", default=",".join(REWRITES), help="only these, by their names: 'into helpers'")
    parser.add_argument("--every", type=int, default=1, help="take only every so many case programs")
    parser.add_argument("--show", type=int, default=0, help="examples to print for each figure")
    parser.add_argument("--record", default="", help="write what the runs saw to this file, one JSON line a program")
    parser.add_argument("--examples", type=int, default=400, help="random programs for the agreement")
    given = parser.parse_args(arguments)
    for law in given.law:
        if law not in LAWS:
            parser.error(f"no law is called {law}: {', '.join(LAWS)}")
    codes = frozenset(filter(None, given.codes.split(",")))
    return Asked(
        laws=tuple(given.law) or LAWS,
        codes=codes,
        reader=_named(given.reader),
        claims=given.claims,
        rewrites=tuple(given.rewrites.split(",")),
        every=given.every,
        show=given.show,
        record=given.record,
        examples=given.examples,
    )


def _named(path: str) -> Any:
    module, _, function = path.partition(":")
    return getattr(importlib.import_module(module), function)


def _chosen(asked: Asked) -> list[Case]:
    return cases()[:: asked.every]


def _words(asked: Asked) -> int:
    from laws.reader import words
    from laws.reader.trigger import put_aside

    found = words.uses()
    print(f"  {len(found)} places in source/ where a word decides: {_counts(words.by_package(found))}")
    aside = list(put_aside(_chosen(asked)))
    print(f"  {len(aside)} faulty programs, as they stand or rewritten, are put aside unread")
    for name, rewrite in aside[: asked.show]:
        print(f"    {name}, {rewrite or 'as it stands'}")
    forbidden = words.forbidden(found)
    for use in forbidden:
        print(f"  source/{use.file}:{use.line}: a word is {use.how} where none may decide")
    return int(bool(forbidden))


def _agreement(asked: Asked) -> int:
    from laws.reader.agreement import agreement, disagreement, examples

    programs = examples(asked.examples)
    found = agreement(programs, asked.reader)
    print(
        f"  {found.programs} random programs: {found.certain} certain, {found.unshown} of them shown by no execution;"
    )
    print(f"  {found.shown} shown by an execution, {found.unreported} of them neither certain nor possible")
    wrong = [text for text in programs if any(disagreement(text, asked.reader))] if asked.show else []
    for text in wrong[: asked.show]:
        print(disagreement(text, asked.reader), *enumerate(text.splitlines(), start=1), sep="\n    ")
    return 0


_programs: list[Original] = []  # inherited by the processes that share the rewrites
_share: list[Asked] = []


def _metamorphic(asked: Asked) -> int:
    _programs[:] = originals(filter(parses, _chosen(asked)), asked.reader, asked.codes)
    _share[:] = [asked]
    certain = sum(len(one.certain) for one in _programs)
    print(f"  {len(_programs)} programs, {certain} certain errors and warnings")
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        for name, (figures, examples) in zip(asked.rewrites, pool.imap(_rewrite, asked.rewrites), strict=True):
            met = "met" if figures.meets(roles_renamed=name in ROLES_RENAMED) else "not met"
            print(f"  {name:34} {_row(figures)}  {met}", flush=True)
            changed = {code: one for code, one in figures.by_code.items() if one[1] != one[0] or one[2]}
            if changed:
                print(
                    "    ",
                    *(f"{code} {kept}/{had}{f' +{new}' * bool(new)}" for code, (had, kept, new) in changed.items()),
                )
            for one in examples[: asked.show]:
                print(f"      {one.case}: lost {_told(one.doubted | one.vanished)}, new {_told(one.new)}")
    return 0


def _rewrite(name: str) -> tuple[Score, list[Change]]:
    (asked,) = _share
    found = list(changes(_programs, REWRITES[name], asked.reader, asked.codes))
    return score(found), [one for one in found if one.vanished or one.doubted or one.new]


def _row(figures: Score) -> str:
    return (
        f"{figures.programs:5} programs: kept {figures.kept:3}/{figures.had:3} ({figures.share:4.0%}), "
        f"now possible {figures.doubted:2}, vanished {figures.vanished:3}, new {figures.new:3}, "
        f"correct accused {figures.accused:2}/{figures.correct}"
    )


def _told(found: Iterable[Found]) -> str:
    return ", ".join(f"{one.code} at {one.place[1]}" for one in sorted(found)) or "none"


def _oracle(asked: Asked) -> int:
    from laws.reader.driver.driving import drive_all
    from laws.reader.oracle import as_json, told, trains, violations

    chosen = {case.name: case.text for case in _chosen(asked) if parses(case)}
    runs = drive_all((name, {MAIN: text}) for name, text in chosen.items())
    found = {name: seen for name, seen in runs if seen is not None and trains(seen)}
    told_by = {name: told(seen) for name, seen in found.items()}
    share, exact = len(found) / max(len(chosen), 1), sum(not seen.bent for seen in found.values())
    print(f"  {len(found)} of {len(chosen)} programs ({share:.1%}) emit a deposit or a consume in a run;")
    print(f"  in {exact} of them every shape fits")
    print(f"  places where the runs answer: {_counts(sum((one.answers for one in told_by.values()), Counter()))}")
    if asked.record:
        lines = (json.dumps({"program": name, **as_json(run)}) + "\n" for name, run in told_by.items())
        Path(asked.record).write_text("".join(lines))
    if asked.claims:
        claimed = _named(asked.claims)
        wrong = [(name, one) for name, run in told_by.items() for one in violations(run, claimed({MAIN: chosen[name]}))]
        print(f"  {len(wrong)} claims contradicted: {_counts(Counter(one.question for _, one in wrong))}")
        for name, one in wrong[: asked.show]:
            print(f"    {name}, line {one.line}: {one.question}: {one.told}")
    return 0


def _meaning(asked: Asked) -> int:
    from laws.reader.meaning import BY_THEMSELVES, differences

    chosen = [case for case in _chosen(asked) if case.name.startswith(BY_THEMSELVES)]
    found = list(differences(chosen[:: 1 if asked.every > 1 else 12]))
    wrong = [one for _, _, one in found if one is not None]
    print(f"  {len(found)} rewritten programs run, {len(wrong)} of them do something else than before")
    for one in wrong:
        print(f"    {one.case}, {one.rewrite}: {one.told}")
    return int(bool(wrong))


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


_FIGURES = {
    "words": _words,
    "agreement": _agreement,
    "meaning": _meaning,
    "metamorphic": _metamorphic,
    "oracle": _oracle,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
