"""Schedules that may move before the first step: none of torch's after all, or made when nothing could be too early."""

import re

from zerograd.core.events import Event
from zerograd.source.files.beside import classes_with
from zerograd.source.names.scopes import Scope
from zerograd.source.order.firsts import is_made_otherwise, waits_for_count
from zerograd.source.text.patterns import pattern
from zerograd.source.values.reading import File
from zerograd.source.walking.templates import is_another

_SETS = pattern(r"\[['\"]lr['\"]\]\s*[-+*/]?=(?!=)|\.lr\s*=(?!=)|_lr\(")
_TORCHS = frozenset(
    {"step", "get_last_lr", "get_lr", "state_dict", "load_state_dict", "last_epoch", "base_lrs", "optimizer"}
    | {"_step_count", "_last_lr", "_get_lr", "total_steps", "T_max", "T_0", "milestones", "step_size", "gamma"}
    | {"print_lr", "verbose", "_initial_step", "_schedulers", "lr_lambdas", "__class__", "__dict__"}
    | {"best", "num_bad_epochs", "patience", "factor", "threshold", "mode", "cooldown", "T_cur", "T_mult", "eta_min"}
    | {"max_lrs", "min_lrs", "lr_lambda", "total_iters", "start_factor", "end_factor", "power"}
)
_HANDS = pattern(r"\b\w+\(self\.\w*opt\w*\b")  # adjust(self.optimizer, self.count)


def is_excused(schedule: Event, file: File, cls: Scope | None, scope: Scope | None) -> bool:
    path, program = schedule.what.removesuffix(".step()"), file.program
    if (cls is not None and is_another(path, cls)) or waits_for_count(program, schedule):
        return True
    if is_made_otherwise(program, path, schedule.site):
        return True
    return scope is not None and scope.lookup(path) is None and (_is_asked_more(path, file) or _may_be_own(file))


def _is_asked_more(path: str, file: File) -> bool:
    """Whether it is asked for what no schedule of torch's has: schedule.weight, scheduler.step_update(i)"""
    asked = set(re.findall(rf"(?<![\w.]){re.escape(path)}\.(\w+)", file.text))
    return not asked <= _TORCHS


def _may_be_own(file: File) -> bool:
    """Whether this file, or one beside it, has a class whose step() sets the rate by itself: what is called a schedule
    where nobody sees it made may be one of these, and those move first."""
    texts = file.beside
    return texts is None or any(map(_has_own, (file.text, *texts)))


def _has_own(text: str) -> bool:
    if "param_groups" not in text:
        return False
    return any(
        _SETS.search(body) or (_HANDS.search(body) and _SETS.search(text)) for body in classes_with("def step(", text)
    )
