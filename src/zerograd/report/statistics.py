"""How many findings each rule has, the most first."""

from collections import Counter
from collections.abc import Iterable

from zerograd.core.findings import Finding
from zerograd.errors import UsageError
from zerograd.report.colour import Paint
from zerograd.report.formats import HUMAN


def tally(form: str, findings: Iterable[Finding], paint: Paint) -> str:
    counted = Counter((finding.code, finding.name) for finding in findings)
    rows = [(code, name, number) for (code, name), number in sorted(counted.items(), key=lambda one: (-one[1], one[0]))]
    if form == "json":
        import json

        return (
            json.dumps([{"code": code, "name": name, "count": number} for code, name, number in rows], indent=2) + "\n"
        )
    if form not in HUMAN:
        cure = "Use --output-format json, or one for people."
        raise UsageError(f"statistics have no {form} format", cure=cure, slug="unknown-option")
    width = max((len(str(number)) for _, _, number in rows), default=0)
    return "".join(f"{str(number).rjust(width)}  {paint(code, 'bold')}  {name}\n" for code, name, number in rows)
