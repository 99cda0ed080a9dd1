"""Parameters that receive gradients and belong to nobody, and optimizers that hold what nobody uses.

Before anyone is accused, every living optimizer is asked: one that has not stepped yet may hold them. A parameter whose
values move is updated by hand, one whose gradient is cleared is looked after; neither is forgotten. Nor is a copy of
the model that collects a gradient for somebody to read (SVRG, gradient matching, importances of weights): its gradient
grows while nobody steps, or the program has a line that reads gradients.
"""

import gc
import math
from collections.abc import Mapping, Sequence
from weakref import ref

from torch import Tensor, nn
from torch.optim import Optimizer

from zerograd.core.events import Site
from zerograd.core.world import Neglect, Orphaned, Orphaning, Unowned
from zerograd.run.account import Account
from zerograd.run.deposit import Deposit
from zerograd.run.detector import Detector
from zerograd.run.graph import Survey
from zerograd.run.naming import named
from zerograd.run.readers import nobody_looks
from zerograd.run.sites import user_frame

_OFTEN = 3  # backwards that add to the same gradient, after _UNDER_WAY steps
_UNDER_WAY = 2
_PATIENCE = 6


class _Stray:
    """A parameter without an owner."""

    def __init__(self, parameter: Tensor) -> None:
        self.parameter = ref(parameter)
        self.version = parameter._version
        self.gradient: ref[Tensor] | None = None
        self.fed = 0  # in all
        self.grown = 0  # steps in a row after which the same gradient has grown
        self.steps = 0  # of all accounts, when it was fed last


class Owners(Detector):
    tells = (Unowned, Orphaned)

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self._strays: dict[Site, dict[int, _Stray]] = {}
        self._told: set[Site] = set()
        self._asked: dict[Site, int] = {}  # how often somebody might have been told something
        self._explained: set[int] = set()  # accounts that hold what nobody uses, and were told so

    def done_with(self, site: Site) -> bool:
        return not self._strays.get(site)

    def forget(self) -> None:
        self._strays.clear()

    def gap(self) -> None:
        for stray in (one for strays in self._strays.values() for one in strays.values()):
            stray.grown = 0

    def patience(self, account: Account, *, owned: Mapping[int, int]) -> float:
        """How many of its steps may starve before they are called so. Told why they do, nobody asks again."""
        if account.number in self._explained:
            return math.inf
        return _PATIENCE if any(strays.keys() - owned.keys() for strays in self._strays.values()) else 0

    def surveyed(self, site: Site, found: Survey, *, owned: set[int]) -> bool:
        """The graph of a line's loss was walked. Returns whether it fills strangers that it did not fill before.

        `owned`: what an optimizer holds or once held.
        """
        known = self._strays.get(site, {})
        alive = [(id(one), one) for reference in found.unowned if (one := reference()) is not None]
        alive = [(number, one) for number, one in alive if number not in owned]
        self._strays[site] = {number: known.get(number) or _Stray(one) for number, one in alive}
        return not self._strays[site].keys() <= known.keys()

    def deposited(self, deposit: Deposit, accounts: Sequence[Account]) -> None:
        strays = self._strays.get(deposit.site)
        if not strays or not any(account.steps >= _UNDER_WAY for account in accounts):
            return
        steps = sum(account.steps for account in accounts)
        for stray in strays.values():
            parameter = stray.parameter()
            gradient = None if parameter is None else parameter.grad
            if gradient is None or parameter is None:
                stray.grown = 0
                continue
            reference = ref(gradient)
            stray.fed += 1
            stray.grown = stray.grown + (steps > stray.steps) if reference is stray.gradient else 0
            stray.gradient, stray.steps = reference, steps
        ripe = [stray for stray in strays.values() if stray.fed >= _OFTEN]
        if ripe and deposit.site not in self._told:
            self._judge(deposit, ripe, accounts)

    def _judge(self, deposit: Deposit, ripe: list[_Stray], accounts: Sequence[Account]) -> None:
        growing = {id(stray.parameter()) for stray in ripe if stray.grown >= _OFTEN - 1}
        suspects = [account for account in accounts if account.fed.orphans() or account.fed.left()]
        if not growing and not suspects:
            return
        asked = self._asked[deposit.site] = self._asked.get(deposit.site, 0) + 1
        if asked & (asked - 1):
            return  # to ask who holds them is to go through every object there is: the 1st, 2nd, 4th, 8th ... time
        owned = _owned_by_anyone()
        forgotten = [
            one
            for stray in ripe
            if (one := stray.parameter()) is not None and id(one) not in owned and one._version == stray.version
        ]
        grown = [one for one in forgotten if id(one) in growing]
        if not forgotten or any(not account.plain for account in accounts):
            return  # FSDP's unsharded parameters belong to nobody, and their shards to an optimizer
        if any(self._orphaned(account, deposit, forgotten) for account in suspects):
            self._told.add(deposit.site)
        elif grown:
            self._told.add(deposit.site)
            # Where no optimizer holds a part of a model, inputs are what is trained: images, latents, prompts.
            modules = not _unused([one for account in accounts for one in account.slots.parameters()])
            certain = modules and nobody_looks(user_frame())
            self.tell(Unowned(deposit.site, Neglect.UNHELD, named(grown), certain=certain))

    def _orphaned(self, account: Account, deposit: Deposit, forgotten: list[Tensor]) -> bool:
        """Whether an optimizer holds what nobody uses, while gradients go to what was forgotten. If so, it is said."""
        step = account.last_step
        orphans = account.fed.orphans()
        certain = _unused(orphans)
        if not orphans:
            orphans = account.fed.left()
            # Replaced by its like: no module has it, and one has another of the same shape, that nobody holds.
            gone = bool(orphans) and _unused(orphans) and not _unused(forgotten)
            if not gone or not {one.shape for one in orphans} <= {one.shape for one in forgotten}:
                return False
            certain = nobody_looks(user_frame())
        if step is None:
            return False
        if certain:
            self._explained.add(account.number)
        held = f"{len(orphans)} parameter{'s' * (len(orphans) != 1)}"
        led = [(deposit.event, "computes gradients for parameters that it does not hold")]
        site = step.site or deposit.site
        self.tell(Orphaned(site, Orphaning.REPLACED, step.what, held, account.called, None, certain), led)
        return True


def _owned_by_anyone() -> set[int]:
    """The ids of all parameters that any living optimizer holds."""
    # By type and not isinstance: asking some objects for their class runs their code.
    optimizers = [one for one in gc.get_objects() if issubclass(type(one), Optimizer)]
    groups = [group for one in optimizers for group in one.__dict__.get("param_groups", ())]
    return {id(parameter) for group in groups for parameter in group["params"]}


def _unused(parameters: Sequence[Tensor]) -> bool:
    """Whether no living module holds any of these."""
    ids = set(map(id, parameters))
    modules = [one for one in gc.get_objects() if issubclass(type(one), nn.Module)]
    return not any(id(held) in ids for module in modules for held in module.__dict__.get("_parameters", {}).values())
