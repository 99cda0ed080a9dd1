"""Which paths are what one trains with: optimizers, scalers and schedules, as they are bound or by their names."""

from zerograd.source.names.scopes import Role, Scope
from zerograd.source.text.patterns import pattern

_SCHEDULES = pattern(r"sched|(^|_)sch(_|\d|$)")
# Of something else than the learning rate: no optimizer need have stepped before it.
_OTHER_SCHEDULES = pattern(
    r"(temp\w*|tau|beta|kl\w*|noise|mask\w*|scal\w*|factor|eps\w*|forcing|sampling|dropout|weight|margin|curriculum"
    r"|loss|mixup|alpha|gamma|ddpm|diffusion|prun\w*|spars\w*|quant\w*|momentum|ema|wd|job|entropy|mmd|gp)_sched"
)
_NOT_OPTIMIZERS = pattern(r"sched|loss|lr_|_lr$|^lr|env|prof|writer|bar|logger|timer|ema|meter|sampler|adapt_loss")


class Tools:
    """Those of one file. `by_manner` are the paths that it both steps and clears: whatever they are called, they behave
    as optimizers."""

    def __init__(self, by_manner: frozenset[str]) -> None:
        self._by_manner = by_manner
        self._optimizers: dict[tuple[Scope, str], bool] = {}
        self._scalers: dict[tuple[Scope, str], bool] = {}

    def is_scaler(self, path: str, scope: Scope) -> bool:
        known = self._scalers.get((scope, path))
        if known is None:
            binding = scope.lookup(path)
            known = binding.role is Role.SCALER if binding else names_scaler(path)
            self._scalers[scope, path] = known
        return known

    def is_optimizer(self, path: str, scope: Scope) -> bool:
        known = self._optimizers.get((scope, path))
        if known is None:
            known = self._optimizers[scope, path] = self._is_optimizer(path, scope)
        return known

    def _is_optimizer(self, path: str, scope: Scope) -> bool:
        binding = scope.lookup(path)
        if binding is not None and binding.role is not Role.INSTANCE:
            return binding.role is Role.OPTIMIZER
        last = path.rpartition(".")[2].lower()
        manner = path in self._by_manner and binding is None and scope.dotted(path) == path  # nothing imported
        named = "opt" in last or manner
        return named and _NOT_OPTIMIZERS.search(last) is None

    def is_scheduler(self, path: str, scope: Scope) -> bool:
        """Torch's own schedulers; or a name that says so and is not known to be anything else."""
        binding = scope.lookup(path)
        if binding is not None:
            return binding.role is Role.SCHEDULER
        last = path.rpartition(".")[2].lower()
        return _SCHEDULES.search(last) is not None and _OTHER_SCHEDULES.search(last) is None

    def driven_by(self, path: str, scope: Scope) -> str | None:
        """The optimizer of a schedule."""
        binding = scope.lookup(path)
        return binding.over[0] if binding is not None and binding.over else None


def names_scaler(path: str) -> bool:
    return "scaler" in path.rpartition(".")[2].lower()
