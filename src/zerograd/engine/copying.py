"""A Step that is copied: over the copied optimizers, with a record of its own.

Functions stay what they are, and so does a trace: two Steps have two names in it.
"""

import copy
from dataclasses import fields, replace
from typing import Any

from zerograd.engine.record import Record
from zerograd.engine.scaling import Scaling
from zerograd.engine.terms import Terms

_SHARED = {"trace", "inspect"}


def terms(given: Terms, memo: dict[int, Any]) -> Terms:
    kept = _SHARED | {"scaling"}
    changed = {
        field.name: copy.deepcopy(getattr(given, field.name), memo) for field in fields(given) if field.name not in kept
    }
    scaling = given.scaling
    if scaling is not None:
        scaling = Scaling(copy.deepcopy(scaling.scaler, memo), changed["optimizers"])
    return replace(given, scaling=scaling, **changed)


def record(given: Record, memo: dict[int, Any]) -> Record:
    """What the Step remembers; nothing is on its way from the device, for everything was asked for."""
    made = Record()
    made.known = given.known._replace(of=None)
    made.fitted = copy.deepcopy(given.fitted)
    made.carried = copy.deepcopy(given.carried, memo)
    return made
