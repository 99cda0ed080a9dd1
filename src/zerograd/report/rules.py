"""A rule as a page: for the terminal, for JSON, for the docs. Everything comes from the rule object."""

from zerograd.rules.rule import Rule


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
        "cure": rule.remedy,
        "fix": rule.fix.value,
    }


def as_page(rule: Rule) -> str:
    """Markdown that also reads well as plain text."""
    seen = " and ".join({"source": "`zerograd check`", "run": "`zerograd run`"}[name] for name in rule.sees.names())
    return "\n".join(
        [
            f"# {rule.code} {rule.name}",
            "",
            f"{rule.severity.value.capitalize()}. Seen by {seen}. Fix: {rule.fix.value}.",
            "",
            rule.explanation.strip(),
            "",
            "## Bad",
            "",
            "```python",
            rule.bad.rstrip(),
            "```",
            "",
            "## Good",
            "",
            "```python",
            rule.good.rstrip(),
            "```",
            "",
            f"Cure: {rule.remedy}.",
            "",
        ]
    )
