"""The abstract run finds what a rule's page shows, and stays silent on what is right."""

import pytest

from zerograd.core.findings import Certainty
from zerograd.rules import REGISTRY
from zerograd.source.abstract import CODES, check_abstractly

PAGES = [(code, part) for code in sorted(CODES) for part in ("bad", "good")]


def certain(text: str) -> set[tuple[int, str]]:
    found = check_abstractly(text, "program.py")
    return {(one.site.line, one.code) for one in found if one.certainty is Certainty.CERTAIN}


@pytest.mark.parametrize(("code", "part"), PAGES)
def test_the_page_is_true(code: str, part: str) -> None:
    text = getattr(REGISTRY[code], part)
    lines = enumerate(text.splitlines(), start=1)
    assert certain(text) == {(number, code) for number, line in lines if f"[{code}]" in line}


def test_no_name_decides() -> None:
    text = REGISTRY["ZG001"].bad
    renamed = text.replace("optimizer", "v1").replace("loader", "v2").replace("model", "v3").replace("loss", "v4")
    renamed = renamed.replace("mse_v4", "mse_loss")
    assert certain(renamed) == certain(text)
