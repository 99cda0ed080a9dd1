"""Patterns that are compiled later: each can be, and is as good as one that was compiled at once."""

import importlib
import pkgutil
import re

import zerograd.source
from zerograd.source.text.patterns import Later, pattern


def test_every_pattern_can_be_compiled() -> None:
    modules = [
        importlib.import_module(one.name) for one in pkgutil.walk_packages(zerograd.source.__path__, "zerograd.source.")
    ]
    later = [value for module in modules for value in vars(module).values() if isinstance(value, Later)]
    assert len(later) > 50
    assert all(isinstance(one.pattern, str | bytes) for one in later)


def test_it_is_a_pattern_from_the_first_time_on() -> None:
    words = pattern(r"(\w+)loss", re.IGNORECASE)
    assert "search" not in vars(words)
    for _ in range(2):
        found = words.search("the MYLOSS")
        assert found is not None
        assert found[1] == "MY"
    assert words.sub("", "mse_loss = 1") == " = 1"
    assert words.pattern == r"(\w+)loss"
    assert pattern(rb"a+").findall(b"caab") == [b"aa"]
