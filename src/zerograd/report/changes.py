"""What changed from one run to the next, in words: for the terminal, as Markdown, as a page, and for programs."""

import html
from collections.abc import Iterator

from zerograd.report.comparing import Comparison, Kept, Pair, Parting
from zerograd.report.printable import printable

VERSION = 1
_CHANGES = {"gone": "gone", "both": "still there", "new": "new"}
_PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>zerograd diff</title>
<style>
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse } th, td { text-align: left; padding: .2rem 1.2rem .2rem 0 }
td + td { font-variant-numeric: tabular-nums }
</style>
<h1>What changed</h1>
"""


def as_object(comparison: Comparison, names: tuple[str, str]) -> dict[str, object]:
    """`version` changes when a field changes its meaning."""
    return {
        "version": VERSION,
        "runs": [{"name": name, "verdict": said} for name, said in zip(names, comparison.verdicts, strict=True)],
        "worse": comparison.worse,
        "findings": [one._asdict() | {"change": one.change} for one in comparison.findings],
        "optimizers": [
            {
                "title": pair.title,
                "counts": [count._asdict() for count in pair.counts],
                "numbers": [number._asdict() for number in pair.numbers],
            }
            for pair in comparison.pairs
        ],
        "alone": comparison.alone,
    }


def as_text(comparison: Comparison, names: tuple[str, str]) -> str:
    lines = [f"{sign} {printable(name)}: {said}" for sign, name, said in _heads(comparison, names)]
    for change, told in _by_change(comparison):
        lines += ["", f"{change}:"]
        lines += [f"  {one}" for one in told]
    for pair in comparison.pairs:
        rows = list(_rows(pair))
        width = max(len(what) for what, _ in rows)
        lines += ["", f"{printable(pair.title)}:", *(f"  {what:<{width}}  {told}" for what, told in rows)]
    return "\n".join([*lines, *_alone(comparison)]) + "\n"


def as_markdown(comparison: Comparison, names: tuple[str, str]) -> str:
    lines = ["## zerograd diff", ""]
    lines += [f"- {sign} `{_code(name)}`: {_plain(said)}" for sign, name, said in _heads(comparison, names)]
    for change, told in _by_change(comparison):
        lines += ["", f"**{change}**", ""]
        lines += [f"- {_plain(one)}" for one in told]
    for pair in comparison.pairs:
        lines += ["", f"**{_plain(pair.title)}**", "", "| | A and B |", "|---|---|"]
        lines += [f"| {what} | {told} |" for what, told in _rows(pair)]
    return "\n".join([*lines, *map(_plain, _alone(comparison))]) + "\n"


def as_page(comparison: Comparison, names: tuple[str, str]) -> str:
    """One file without a script. Whatever a run says is text: none of it is markup."""
    parts = [f"<p><b>{sign}</b> {_text(name)}: {_text(said)}</p>" for sign, name, said in _heads(comparison, names)]
    for change, told in _by_change(comparison):
        parts.append(f"<h2>{change}</h2>\n<ul>" + "".join(f"\n<li>{_text(one)}</li>" for one in told) + "\n</ul>")
    for pair in comparison.pairs:
        rows = "".join(f"\n<tr><th scope=row>{what}</th><td>{told}</td></tr>" for what, told in _rows(pair))
        parts.append(f"<h2>{_text(pair.title)}</h2>\n<table>{rows}\n</table>")
    parts += [f"<p>{_text(line)}</p>" for line in _alone(comparison) if line]
    return _PAGE + "\n".join(parts) + "\n"


def _heads(comparison: Comparison, names: tuple[str, str]) -> Iterator[tuple[str, str, str]]:
    yield from zip("AB", names, comparison.verdicts, strict=True)


def _by_change(comparison: Comparison) -> Iterator[tuple[str, list[str]]]:
    for change, word in _CHANGES.items():
        told = [_finding(one) for one in comparison.findings if one.change == change]
        if told:
            yield word, told


def _finding(one: Kept) -> str:
    doubt = "" if one.fails else " (no certain fault)"
    many = max(one.before, one.after)
    times = "once" if many == 1 else f"{many:,} times"
    if one.change == "both" and one.before != one.after:
        times = f"{one.before:,} times, now {one.after:,}"
    return f"{one.code} at {printable(one.place)}: {printable(one.message.partition(';')[0])}{doubt}; {times}"


def _rows(pair: Pair) -> Iterator[tuple[str, str]]:
    yield from ((count.what, _counted(count.before, count.after)) for count in pair.counts)
    yield from ((number.what, _parted(number)) for number in pair.numbers)


def _counted(before: int, after: int) -> str:
    return f"{before:,} in both" if before == after else f"{before:,}, now {after:,}"


def _parted(number: Parting) -> str:
    end = f"at the end {number.end[0]:g} and {number.end[1]:g}"
    if not number.steps:
        return end
    if number.there is None:
        return f"the same in {number.steps:,} step{'s' * (number.steps != 1)} of both"
    where = "at" if number.width == 1 else "near"
    return f"parts {where} step {number.step:,}: {number.there[0]:g} and {number.there[1]:g}; {end}"


def _alone(comparison: Comparison) -> list[str]:
    told = [
        f"only in {sign}: {', '.join(map(printable, titles))}"
        for sign, titles in zip("AB", comparison.alone, strict=True)
        if titles
    ]
    return ["", *told] if told else []


def _text(text: str) -> str:
    return html.escape(printable(text, longest=900))


def _code(text: str) -> str:
    return printable(text).replace("`", "'")


def _plain(text: str) -> str:
    """Nothing of it is markup."""
    marks = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]<>|#~"})
    return printable(text, longest=900).translate(marks)
