"""What a thing from outside is, told by what is done with it anywhere it flows.

A use is the name of an attribute that is read, with `()` behind it where it is called, and `(x)` where it is handed
something.
"""

from zerograd.source.effects import python
from zerograd.source.effects.torch import SCHEDULER_FIELDS
from zerograd.source.project.hints import Role

Uses = set[str] | frozenset[str]


def role_by_use(uses: Uses) -> Role | None:
    """The one role that these uses leave, or None."""
    steps = "step()" in uses or "step(x)" in uses
    backward = "backward(x)" in uses
    if backward and python.ENTER in uses:
        return None  # a block of its own, and what it does when it is left nobody knows: zerograd.Step commits
    if backward and steps and "zero_grad()" not in uses:
        return None  # an engine, which does it all: see `is_engine`
    if (backward and not steps) or uses & {"accumulate(x)", "sync_gradients"}:
        return Role.ACCELERATOR
    if STEPS_OPTIMIZERS in uses and "update()" in uses:
        return Role.SCALER
    if uses & {"unscale_(x)", "get_scale()"} or ("scale(x)" in uses and ("update()" in uses or "step(x)" in uses)):
        return Role.SCALER
    if STEPPED_BY_SCALER in uses or (steps and uses & {"zero_grad()", "param_groups"}):
        return Role.OPTIMIZER
    if uses & {"first_step()", "first_step(x)"} and uses & {"second_step()", "second_step(x)"}:
        return Role.OPTIMIZER
    if "zero_grad()" in uses and "param_groups" in uses:
        return Role.OPTIMIZER
    if uses & {"get_last_lr()", "get_lr()", "last_epoch"} or is_schedule_of_torch(uses):
        return Role.SCHEDULER
    if uses & {"parameters()", "named_parameters()", "register_forward_hook(x)"}:
        return Role.MODULE
    if "__call__" in uses and uses & {"train()", "eval()", "zero_grad()", "load_state_dict(x)", "train(x)"}:
        return Role.MODULE
    return None


def called_so(uses: Uses) -> list[tuple[str, bool]]:
    """The methods that are called on it, and whether they are handed something."""
    calls = sorted(use for use in uses if "(" in use)
    told = [(use.partition("(")[0], use.endswith("(x)")) for use in calls]
    return [*told, ("step", False)] if STEPPED_BY_SCALER in uses else told


def is_stepped(uses: Uses) -> bool:
    """Whether a known optimizer is in use here."""
    return bool(uses & {"step()", "zero_grad()", "step(x)", STEPPED_BY_SCALER})


def steps(uses: Uses) -> bool:
    return bool(uses & {"step()", "step(x)", STEPPED_BY_SCALER})


# Not the spelling of anything: that a scaler was told to step this.
STEPPED_BY_SCALER = "<stepped by a scaler>"
STEPS_OPTIMIZERS = "<is told to step an optimizer>"
TOLD_THINGS = "<is told things that only it uses>"


def is_updated(uses: Uses) -> bool:
    """Whether it is told that an iteration is over, as scalers are."""
    return "update()" in uses


def is_schedule_of_torch(uses: Uses) -> bool:
    """Whether it is asked for what schedules of torch's own classes have, and steps."""
    return "step()" in uses and bool(uses & SCHEDULER_FIELDS)


def is_engine(uses: Uses) -> bool:
    """Whether it goes backward and steps by itself, as DeepSpeed's engine does."""
    return "backward(x)" in uses and ("step()" in uses or "step(x)" in uses) and "zero_grad()" not in uses


def may_be_schedule(uses: Uses) -> bool:
    """Whether nothing is asked of it that no schedule of torch's has."""
    return {use.partition("(")[0] for use in uses} <= _OF_SCHEDULES


_SCHEDULE = (
    "step get_last_lr get_lr print_lr last_epoch base_lrs state_dict load_state_dict optimizer gamma step_size "
    "milestones T_max T_cur T_0 T_i eta_min eta_max max_lrs total_steps total_iters lr_lambdas verbose"
)
_OF_SCHEDULES = frozenset(_SCHEDULE.split())


def may_be_stepped(uses: Uses) -> bool:
    """Whether it is an optimizer or a scheduler for all one sees: it steps, and does nothing that neither does."""
    foreign = {"reset()", "reset(x)", "render()", "backward()", "__iter__", "__call__", "observation_space", "close()"}
    return ("step()" in uses or "step(x)" in uses) and not uses & foreign
