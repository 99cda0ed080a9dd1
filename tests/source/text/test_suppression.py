"""Which comments allow which findings, and what is said of those that allow none."""

import pytest

from zerograd.rules import REGISTRY
from zerograd.source.check import check_text
from zerograd.source.text.lines import lines_of, to_character

LOOP = """\
import torch

def train(model, optimizer, loader):
    for x in loader:
        model(x).sum().backward()
        {step}
"""


def found(text: str, **options) -> list[tuple[int, str]]:
    return [(finding.site.line, finding.code) for finding in check_text(text, **options)]


def step(written: str) -> str:
    return LOOP.replace("{step}", written)


ALLOWED = {
    "native": "optimizer.step()  # zerograd: ignore[ZG001]",
    "tight": "optimizer.step()  #zerograd:ignore[ZG001]",
    "with a reason": "optimizer.step()  # zerograd: ignore[ZG001] sums on purpose",
    "blanket": "optimizer.step()  # zerograd: ignore",
    "by name": "optimizer.step()  # zerograd: ignore[stale-accumulation]",
    "by prefix": "optimizer.step()  # zerograd: ignore[ZG0]",
    "noqa": "optimizer.step()  # noqa: ZG001",
    "noqa among others": "optimizer.step()  # noqa: E501,ZG001 W291",
    "noqa in capitals": "optimizer.step()  # NOQA: zg001",
    "bare noqa": "optimizer.step()  # noqa",
    "behind another comment": "optimizer.step()  # type: ignore # zerograd: ignore[ZG001]",
    "on the line above": "# zerograd: ignore[ZG001]\n        optimizer.step()",
    "two lines above": "# zerograd: ignore[ZG001]\n        # because\n\n        optimizer.step()",
    "first of several lines": "optimizer.step(  # zerograd: ignore[ZG001]\n            None,\n        )",
    "last of several lines": "optimizer.step(\n            None,\n        )  # zerograd: ignore[ZG001]",
    "whole file": "optimizer.step()\n# zerograd: ignore-file[ZG001]",
    "whole file, every rule": "optimizer.step()\n# zerograd: ignore-file",
}


@pytest.mark.parametrize("written", ALLOWED.values(), ids=ALLOWED)
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_allowed(written: str, end: str) -> None:
    assert found(step(written).replace("\n", end)) == []


NOT_ALLOWED = {
    "in a string": "optimizer.step(); x = '# zerograd: ignore[ZG001]'",
    "another line": "optimizer.step()\n        pass  # noqa",
    "another tool's code": "optimizer.step()  # noqa: F401",
    "a word that only begins so": "optimizer.step()  # zerograd: ignored",
    "a code without brackets": "optimizer.step()  # zerograd: ignore ZG001",
    "an open bracket": "optimizer.step()  # zerograd: ignore[ZG001",
    "empty brackets": "optimizer.step()  # zerograd: ignore[]",
}


@pytest.mark.parametrize("written", NOT_ALLOWED.values(), ids=NOT_ALLOWED)
def test_not_allowed(written: str) -> None:
    assert found(step(written)) == [(6, "ZG001")]


UNUSED = {
    "another rule": ("optimizer.step()  # zerograd: ignore[ZG004]", "ignores ZG004, which is not found here"),
    "one of two": ("optimizer.step()  # zerograd: ignore[ZG001, ZG004]", "ignores ZG004, which is not found here"),
    "nearly a rule": (
        "optimizer.step()  # zerograd: ignore[ZG001, ZG0005]",
        "ignores ZG0005, which is no rule (did you mean 'ZG005'?)",
    ),
    "no rule": ("optimizer.step()  # zerograd: ignore[ZG001, ZG777]", "ignores ZG777, which is no rule"),
    "a noqa of ours": ("optimizer.step()  # noqa: F401, ZG001, ZG004", "ignores ZG004, which is not found here"),
    "blanket": ("optimizer.step()  # noqa\n        x = 1  # zerograd: ignore", "ignores every rule, and none of them"),
    "several": (
        "optimizer.step()  # zerograd: ignore[ZG001,ZG002,ZG004,none]",
        "ignores ZG002 and ZG004, which are not found here, and none, which is no rule",
    ),
}


@pytest.mark.parametrize(("written", "message"), UNUSED.values(), ids=UNUSED)
def test_unused(written: str, message: str) -> None:
    findings = [finding for finding in check_text(step(written)) if finding.code == "ZG901"]
    assert len(findings) == 1
    assert message in findings[0].message
    assert findings[0].fails


def test_unused_in_a_file_that_trains_nothing() -> None:
    assert found("x = 1  # zerograd: ignore\n") == [(1, "ZG901")]
    assert found("x = 1  # noqa: ZG001\n") == [(1, "ZG901")]
    assert found("x = 1  # noqa\n") == []


def test_what_was_not_looked_for_is_not_unused() -> None:
    text = step("optimizer.step()  # zerograd: ignore[ZG001]")
    some = [REGISTRY["ZG004"], REGISTRY["ZG901"]]
    assert found(text, rules=some) == []
    assert found(text.replace("[ZG001]", ""), rules=some) == []
    assert found(text.replace("ZG001", "ZG104"), rules=[REGISTRY["ZG901"]]) == []  # only a run can see it
    assert found(text.replace("ZG001", "ZG004"), rules=some[:1]) == []


def test_unused_comments_can_be_allowed_by_name_alone() -> None:
    assert found("x = 1  # zerograd: ignore[ZG001, ZG901]\n") == []
    assert found("# zerograd: ignore-file[ZG901]\nx = 1  # zerograd: ignore\n") == []
    assert found("x = 1  # noqa # zerograd: ignore[ZG001]\n") == [(1, "ZG901")]


def test_python_that_cannot_be_tokenised_is_read_as_far_as_it_goes() -> None:
    text = step("optimizer.step()  # zerograd: ignore[ZG001]\n        print 'loss'")
    assert found(text) == []


REMOVED = {
    "at the end of a line": ("x = 1  # zerograd: ignore[ZG001] why\ny", "x = 1\ny"),
    "on its own line": ("# zerograd: ignore\nx = '\u00e9'", "x = '\u00e9'"),
    "at the end of a file without a newline": ("x = 1\n# zerograd: ignore", "x = 1\n"),
    "behind another": ("x = '\u00e9'  # type: ignore  # zerograd: ignore", "x = '\u00e9'  # type: ignore"),
    "before another": ("x = 1  # zerograd: ignore  # keep", "x = 1  # keep"),
    "from a noqa": ("x = 1  # noqa: F401,ZG001", "x = 1  # noqa: F401"),
    "a whole noqa": ("x = 1  # noqa: ZG001", "x = 1"),
}


@pytest.mark.parametrize(("before", "after"), REMOVED.values(), ids=REMOVED)
def test_the_fix_takes_it_away_and_nothing_else(before: str, after: str) -> None:
    (finding,) = check_text(before)
    assert finding.fix is not None
    (edit,) = finding.fix.edits
    lines = lines_of(before)
    head = lines[edit.line - 1][: to_character(lines[edit.line - 1], edit.column)]
    tail = lines[edit.end_line - 1][to_character(lines[edit.end_line - 1], edit.end_column) :]
    assert "\n".join([*lines[: edit.line - 1], head + edit.text + tail, *lines[edit.end_line :]]) == after
