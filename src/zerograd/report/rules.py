"""A rule as a page: for the terminal, for JSON, for SARIF, for docs/rules. Everything comes from the rule object."""

import re
from collections.abc import Iterable

from zerograd.report.colour import Paint
from zerograd.report.text import full
from zerograd.rules.rule import Fix, Rule, Sees

_FRONT_ENDS = {
    Sees.SOURCE: "`zerograd check`",
    Sees.RUN: "`zerograd run`",
    Sees.FULL: "`zerograd run --mode full`",
}
_FIXES = {
    Fix.NONE: "none",
    Fix.SAFE: "safe: `--fix` makes it, and training stays exactly the same",
    Fix.UNSAFE: "unsafe: `--fix --unsafe-fixes` makes it; it changes the training, which is the point",
}

_MARK = re.compile(r"\s*# (?:error|note|source|run|full): \[\w+\]")


def as_object(rule: Rule) -> dict[str, object]:
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity.value,
        "message": rule.message,
        "explanation": rule.explanation.strip(),
        "bad": rule.bad,
        "good": rule.good,
        "sees": rule.sees.names(),
        "cure": rule.general_remedy,
        "fix": rule.fix.value,
    }


def as_page(rule: Rule) -> str:
    """Markdown that also reads well as plain text."""
    seen = " and ".join(name for front, name in _FRONT_ENDS.items() if front in rule.sees)
    return "\n".join(
        [
            f"# {rule.code} {rule.name}",
            "",
            f"{rule.severity.value.capitalize()}. Found by {seen}.",
            "",
            rule.explanation.strip(),
            "",
            "## Bad",
            "",
            "```python",
            _bad(rule).rstrip(),
            "```",
            "",
            *_told(rule),
            "## Good",
            "",
            "```python",
            rule.good.rstrip(),
            "```",
            "",
            f"How to fix it: {rule.general_remedy}.",
            "",
            f"Automatic fix: {_FIXES[rule.fix]}.",
            "",
            *_allowing(rule),
        ]
    )


def _bad(rule: Rule) -> str:
    """Without the marks for the tests; the one that no excerpt points at stays, as a comment."""
    return _MARK.sub("" if Sees.SOURCE in rule.sees else rf"  # {rule.code}", rule.bad)


def _told(rule: Rule) -> list[str]:
    """What the bad program is told: by the checker itself, or, where only a run can see it, the rule's sentence."""
    if Sees.SOURCE not in rule.sees:
        sentence = re.sub(r"\{\w+\}", "...", rule.as_run().message)
        return ["```text", f"train.py: {rule.code} {sentence}", "```", ""]
    from zerograd.source.check import check_text  # pages only

    text = _bad(rule)
    findings = [finding for finding in check_text(text, "train.py") if finding.code == rule.code]
    lines = [full(finding, lambda document: text.splitlines(), Paint(on=False)) for finding in findings]
    return ["```text", "\n\n".join(lines), "```", ""]


def _allowing(rule: Rule) -> list[str]:
    if Sees.SOURCE not in rule.sees:
        return []
    return [f"To ignore it in one place: `# zerograd: ignore[{rule.code}]`; everywhere: `--ignore {rule.name}`.", ""]


def as_rows(rules: Iterable[Rule]) -> list[list[str]]:
    """One line for each rule, below a head."""
    words = {Sees.SOURCE: "check", Sees.RUN: "run", Sees.FULL: "run --mode full"}
    head = ["code", "name", "severity", "found by", "fix", "what is wrong"]
    rows = [
        [
            rule.code,
            rule.name,
            rule.severity.value,
            ", ".join(word for front, word in words.items() if front in rule.sees),
            rule.fix.value,
            summary(rule),
        ]
        for rule in rules
    ]
    return [head, *rows]


def as_index(rules: Iterable[Rule]) -> str:
    """The table of all rules, with links to their pages."""
    rows = [
        f"| [{rule.code}]({rule.code}.md) | {rule.name} | {summary(rule)} | {rule.severity.value} "
        f"| {', '.join(rule.sees.names())} | {rule.fix.value} |"
        for rule in rules
    ]
    return "\n".join(
        [
            "# Rules",
            "",
            "`make pages` writes this table from the rules; `zerograd rule CODE` prints a rule. `source` means that",
            "`zerograd check` finds it, `run` that `zerograd run` and `audit()` find it, `full` that they do in full",
            "mode. Certain errors and warnings fail a check; notes are counted, and shown with `--notes`.",
            "",
            "| code | name | what is wrong | severity | found by | automatic fix |",
            "|---|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def summary(rule: Rule) -> str:
    """The first sentence of its explanation."""
    first, _, _ = rule.explanation.strip().partition("\n\n")
    return " ".join(first.split())


def pages(rules: Iterable[Rule]) -> dict[str, str]:
    """The files of docs/rules."""
    known = list(rules)
    return {"README.md": as_index(known), **{f"{rule.code}.md": as_page(rule) for rule in known}}
