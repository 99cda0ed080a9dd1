"""Which codes answer which kind of bug, and which mutant."""

_NOT_CLEARED = {"ZG001", "ZG006", "ZG009"}

# A real bug counts as found if one of these stands inside the function that has it.
BUGS: dict[str, set[str]] = {
    "missing-zero": _NOT_CLEARED,
    "zero-per-epoch": _NOT_CLEARED,
    "zero-skipped-first": _NOT_CLEARED | {"ZG007"},
    "sam-missing-zero": _NOT_CLEARED,
    "closure-missing-zero": _NOT_CLEARED,
    "zero-between": {"ZG002", "ZG003"},
    "zero-each-microbatch": {"ZG002"},
    "skip-drops-window": {"ZG002", "ZG007"},
    "skip-leaves-stale": {"ZG001", "ZG007"},
    "accum-off-by-one": {"ZG103"},
    "accum-guard-inverted": {"ZG001", "ZG002", "ZG103"},
    "accum-tail": {"ZG102"},
    "accum-unnormalised": {"ZG101"},
    "accum-double-normalised": {"ZG105"},
    "accum-step-every-microbatch": {"ZG002", "ZG106"},
    "accum-rescale-each-microbatch": {"ZG107", "ZG302"},
    "accum-never-deposited": {"ZG003", "ZG106"},
    "amp-clip-no-unscale": {"ZG201"},
    "amp-unscale-each-microbatch": {"ZG204"},
    "clip-after-step": {"ZG302"},
    "clip-before-backward": {"ZG302"},
    "clip-each-microbatch": {"ZG201", "ZG302"},
    "gan-leak": {"ZG005", "ZG006"},
    "gan-wrong-optimizer": {"ZG003", "ZG004", "ZG005", "ZG006"},
    "nosync-misaligned": {"ZG501", "ZG502"},
    "sched-before-step": {"ZG301"},
    # Kinds that only the reported faults have.
    "accum-setting-not-applied": {"ZG106"},
    "backward-without-step": {"ZG002", "ZG003", "ZG008", "ZG010"},
    "deepspeed-boundary-not-set": {"ZG002"},
    "input-grad-not-zeroed": {"ZG001", "ZG009"},
    "kept-graph": {"ZG402"},
    "loss-cut": {"ZG003", "ZG010"},
    "missing-detach": {"ZG001", "ZG005", "ZG006", "ZG008"},
    "optimizer-never-stepped": {"ZG002", "ZG003", "ZG008", "ZG010"},
    "orphan-optimizer": {"ZG003", "ZG008", "ZG010"},
    "param-in-two-optimizers": {"ZG004", "ZG005", "ZG010"},
    "params-not-in-optimizer": {"ZG006", "ZG008", "ZG010"},
    "retain-graph": {"ZG402"},
    "scaler-update-missing": {"ZG203"},
    "scaler-update-skipped": {"ZG203", "ZG204"},
    "scaler-updated-twice": {"ZG203"},
    "sched-each-microbatch": {"ZG301"},
    "sched-per-batch": {"ZG301"},
    "step-before-backward": {"ZG001", "ZG003", "ZG004"},
    "step-without-backward": {"ZG003", "ZG004", "ZG010"},
}

MUTANTS: dict[str, set[str]] = {
    "clear deleted": {"ZG001", "ZG006"},
    "clear before the loop": {"ZG001", "ZG006"},
    "clear before the step": {"ZG002", "ZG003"},
    "step doubled": {"ZG004"},
    "backward deleted": {"ZG003"},
    "unscale deleted": {"ZG201"},
    "clip after the step": {"ZG302"},
}

# dslinter has one rule about gradients, and it is about clearing. TorchFix has none.
DSLINTER_RULE = "W5517"


def answers(code: str, wanted: set[str]) -> bool:
    return code in wanted or (code == DSLINTER_RULE and "ZG001" in wanted)


def speaks_of_gradients(code: str) -> bool:
    """Not of memory or of other matters: whether a correct loop must never have this finding."""
    return code == DSLINTER_RULE or code.startswith(("ZG0", "ZG1", "ZG2", "ZG3", "ZG5"))
