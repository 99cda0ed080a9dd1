"""Schedules that may move before the first step: none of torch's after all, or made when nothing could be too early."""

import re

from zerograd.core.events import Event
from zerograd.source.firsts import is_made_otherwise, waits_for_count
from zerograd.source.reading import File
from zerograd.source.scopes import Scope
from zerograd.source.templates import is_another

_CLASS = re.compile(r"^class ", re.MULTILINE)
_TOP = re.compile(r"^\S", re.MULTILINE)
_STEPS = re.compile(r"\bdef step\(")
_SETS = re.compile(r"\[['\"]lr['\"]\]\s*[-+*/]?=(?!=)|\.lr\s*=(?!=)|_lr\(")
_HANDS = re.compile(r"\b\w+\(self\.\w*opt\w*\b")  # adjust(self.optimizer, self.count)


def is_excused(schedule: Event, file: File, cls: Scope | None, scope: Scope | None) -> bool:
    path, program = schedule.what.removesuffix(".step()"), file.program
    if (cls is not None and is_another(path, cls)) or waits_for_count(program, schedule.site):
        return True
    if is_made_otherwise(program, path, schedule.site):
        return True
    return scope is not None and scope.lookup(path) is None and _may_be_own(file)


def _may_be_own(file: File) -> bool:
    """Whether this file, or one beside it, has a class whose step() sets the rate by itself: what is called a schedule
    where nobody sees it made may be one of these, and those move first."""
    texts = file.beside
    return texts is None or any(map(_has_own, (file.text, *texts)))


def _has_own(text: str) -> bool:
    if "param_groups" not in text or "def step(" not in text:
        return False
    for found in _CLASS.finditer(text):
        end = _TOP.search(text, found.end())
        body = text[found.start() : end.start() if end is not None else len(text)]
        sets = _SETS.search(body) or (_HANDS.search(body) and _SETS.search(text))
        if sets and _STEPS.search(body) and ".backward(" not in body:
            return True
    return False
