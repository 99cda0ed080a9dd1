"""Calls that cannot be read: what each may do, told by its name and by what it is handed."""

import ast
import sys
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from zerograd.core.events import Kind
from zerograd.core.facts import ALL_DOUBTS, NO_DOUBT, Doubts
from zerograd.source.names.harmless import OF_OWNER, does_nothing, is_moot
from zerograd.source.names.scopes import Role, Scope
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.text.wording import BUILTINS, saying

PACKAGES = frozenset(sys.stdlib_module_names) | {"torch", "numpy", "tqdm", "np", "wandb", "torchvision", "apex"}
# What a LightningModule has from Lightning and a training step calls, and that touches no gradient.
_LIGHTNING = frozenset({"optimizers", "lr_schedulers", "print", "all_gather", "toggle_optimizer", "untoggle_optimizer"})
# What Accelerate's own object has beside backward() and its clips: it wraps, hands out, gathers and writes.
ACCELERATE = frozenset(
    {"prepare", "prepare_model", "prepare_optimizer", "prepare_scheduler", "prepare_data_loader", "unwrap_model"}
    | {"accumulate", "no_sync", "autocast", "main_process_first", "local_main_process_first", "wait_for_everyone"}
    | {"gather", "gather_for_metrics", "reduce", "pad_across_processes", "set_trigger", "check_trigger", "print", "log"}
    | {"init_trackers", "get_tracker", "end_training", "register_for_checkpointing", "skip_first_batches"}
    | {"save", "save_state", "load_state", "save_model", "get_state_dict", "free_memory"}
)
_ACCELERATOR = pattern(r"accelerate\.(\w+\.)*Accelerator$")
FAMILIAR_BASES = frozenset({"object", "torch.nn.Module", "abc.ABC"})
_DEPOSITS: Doubts = frozenset({Kind.DEPOSIT})
_trains = saying(r"backward|train|step|update|optimi|closure|learn|fit|run|execut|grad|process_batch|iteration")
# next_train_batch(), get_training_data(): what hands out data trains nothing.
_hands_out = saying(
    r"^_*(next|get|load|make|sample|fetch|build|create|prepare|split|read)_\w*(batch(es)?|data|loaders?|datasets?|set|iter)$"
)
_learns = saying(r"model|net(work)?s?$|generator|critic|encoder|policy|actor")
_teaches = saying(r"loss|criterion|accelerator|scaler|fabric")
_NETWORK = pattern(r"^([A-WZ]|net|net_?[A-Z]\w*|\w*_net|model|generator|discriminator|critic)$")
_goes_backward = saying(r"backprop|backward")
_is_of_losses = saying(r"criteri|loss")
_FEW = 2  # that a loss is made of; one that is told more may know the optimizer's part too: criterion(out, y, n)
_clears = saying(r"zero|reset|clear|clean|grads?$")
# What is updated by a number that was measured, or by weights: bar.update(1), losses.update(loss.item()), ema.update().
_tallies = saying(
    r"bar$|meter|metric|^loss|_loss(es)?$|(^|_)ema(_|$)|progress|^acc(s|uracy)?$|avg|average|stats|top\d|history|logs?$"
    r"|logger|dict$|info$"
)
_averages = saying(r"(^|_)ema(_|$)|moving_av|swa|shadow")
_AVERAGING = pattern(r"^_*((update|step|apply)_(the_)?ema(_\w+)?|ema_(update|step)|(soft|hard|polyak)_update)$")
_AVERAGES = frozenset({"update_parameter", "update_parameters", "update_params", "update_ema", "step_ema"})
# callback.before_batch(), fire("start"): what was registered somewhere else, and may do anything.
_calls_hooks = saying(
    r"^_*((on_(?!device|gpu|cuda|cpu|policy)|before_|after_)\w+|\w*(call|run|exec\w*)_(hooks?|callbacks?|handlers?)|fire\w*|dispatch\w*|emit)$"
)
_has_hooks = saying(r"(^|_)(cbs?|callbacks?|hooks?|dispatcher)$")
_LISTS = frozenset({"append", "extend", "insert", "remove", "pop", "items", "values", "keys", "get", "close"})
_signals = saying(r"signal|sig$|progress|status|messages?$|logs?$|logger")  # self.progress.emit(i), of a window
# env.play(self), evaluate(self, epoch): what looks at an object, moves it about or keeps it leaves its gradients alone.
_looks = saying(
    r"^_*(eval|valid|play|roll_?out|collect|simulat|sampl|act$|act_|plot|draw|show|vis|render|summar|count|save|load|dump"
    r"|report|copy|deepcopy|display|describe|predict|infer|export|interact|generate|measure|score|get_|is_|has_|num_)"
    r"|episode|checkpoint"
)
_records = saying(
    r"append|add_scalar|^log|record|write|print|item|reduce|postfix|format|isnan|isfinite|float|meter|track"
)


def told(path: str, scope: Scope) -> Doubts | None:
    """What a call that cannot be read may do, by what the object is bound to; None if that tells nothing."""
    receiver = path.rpartition(".")[0]
    binding = scope.lookup(path) or scope.lookup(receiver)
    if binding is not None and binding.role is not Role.INSTANCE:
        return NO_DOUBT  # a method of a torch object, or its forward pass
    return _DEPOSITS if _is_worker(path, receiver, scope) else None


def unseen(path: str, call: ast.Call, scope: Scope) -> Doubts:
    """What a call that cannot be read may do, though it was handed neither optimizer nor scaler, by the words in it.

    A forward pass or a criterion deposits nothing. What is named for training, or is handed the loss, may.
    """
    receiver, _, name = path.rpartition(".")
    said = _said_by(name)
    if said.nothing:
        return NO_DOUBT
    last = receiver.rpartition(".")[2]
    if said.asks_owner and _does_nothing_to(receiver, last, name, call):
        return NO_DOUBT
    if receiver == "self" and _is_inherited(path, scope):
        return NO_DOUBT if said.records or name in _LIGHTNING else ALL_DOUBTS
    hook = not _signals(last) if said.calls_hooks else _has_hooks(last) and name not in _LISTS
    if hook or _is_given_self(call, name):
        return NO_DOUBT if makes_something(name) else ALL_DOUBTS
    if said.clears:
        return ALL_DOUBTS
    if said.of_losses:
        if receiver in ("", "self") and _is_given_network(call, scope):
            return ALL_DOUBTS  # D_loss(D, G), of whose text nothing is known
        if len(call.args) > _FEW and path in scope.parameters:
            return _DEPOSITS
    deposits = said.trains or _is_told_to(call) or (not said.records and _is_given_loss(call))
    return _DEPOSITS if deposits else NO_DOUBT


class _Said(NamedTuple):
    """What the name of a call says by itself."""

    nothing: bool  # it does nothing, whoever it is called on
    asks_owner: bool  # or that hangs on whom
    calls_hooks: bool
    clears: bool
    of_losses: bool
    trains: bool
    records: bool


@lru_cache(maxsize=4096)  # the same names are called all the time
def _said_by(name: str) -> _Said:
    return _Said(
        nothing=is_moot(name) or _AVERAGING.match(name) is not None,
        asks_owner=name in OF_OWNER or name == "update" or name in _AVERAGES,
        calls_hooks=_calls_hooks(name),
        clears=_clears(name),
        of_losses=_is_of_losses(name),
        trains=_trains(name) and not _hands_out(name),
        records=_records(name),
    )


def _does_nothing_to(receiver: str, last: str, name: str, call: ast.Call) -> bool:
    if name in OF_OWNER:
        return does_nothing(receiver, name, call)
    return (name == "update" and _tallies(last)) or (name in _AVERAGES and _averages(last))


def is_harmless(path: str, scope: Scope) -> bool:
    """Whether what is called is Python's or torch's own."""
    return is_foreign(path.partition(".")[0], scope) or path in BUILTINS or is_accelerates(path, scope)


def is_foreign(name: str, scope: Scope) -> bool:
    """Whether a name is one of Python's or torch's modules, or something out of one."""
    # gc = GradCache(model): it is not Python's then
    return scope.dotted(name).partition(".")[0] in PACKAGES and not scope.defines(name)


def is_accelerates(path: str, scope: Scope) -> bool:
    """Whether a call is one of Accelerate's that touch no gradient: its text is long, and says nothing more."""
    receiver, _, name = path.rpartition(".")
    if name not in ACCELERATE:
        return False
    made = scope.lookup(receiver)
    return (
        receiver.rpartition(".")[2] == "accelerator" if made is None else _ACCELERATOR.match(made.made_by) is not None
    )


def _is_told_to(call: ast.Call) -> bool:
    """model(x, replay_backprop=True)"""
    return bool(call.keywords) and any(keyword.arg and _goes_backward(keyword.arg) for keyword in call.keywords)


def _is_given_network(call: ast.Call, scope: Scope) -> bool:
    """D_loss(D, G, real): a loss that is handed what an optimizer holds may clear it too."""
    path = path_of(call.args[0]) if call.args else None
    if path is None:
        return False
    return scope.optimizer_of(path) is not None or _NETWORK.search(path.rpartition(".")[2]) is not None


def _is_given_self(call: ast.Call, name: str) -> bool:
    """hook.before(self): all that the object has, its optimizer too."""
    for one in call.args:
        if isinstance(one, ast.Name) and one.id == "self":
            return not _records(name) and not _looks(name)
    return False


def _is_given_loss(call: ast.Call) -> bool:
    handed = call.args + [keyword.value for keyword in call.keywords] if call.keywords else call.args
    for one in handed:
        path = path_of(one)
        if path is not None and "loss" in path.rpartition(".")[2].lower():
            return True
    return False


def makes_something(path: str) -> bool:
    """Whether the call looks like a class: FindLR(optimizer), not train(optimizer)."""
    name = path.rpartition(".")[2]
    return name[:1].isupper() and not name.isupper()


def makes_worker(call: ast.Call) -> bool:
    """GradCache([model, model], loss_fn): whoever has networks, or one and a loss, may go backward."""
    func = call.func
    name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
    if not name[:1].isupper():
        return False  # most
    if not makes_something(name) or not (call.args or call.keywords) or _teaches(name):
        return False  # DistillLoss(teacher, nn.MSELoss()) is a loss itself
    given = [*call.args, *(one.value for one in call.keywords)]
    several = [one for one in given if isinstance(one, ast.List)]
    parts = chain(given, *(one.elts for one in several))
    names = {path.rpartition(".")[2] for part in parts if (path := path_of(part)) is not None}
    names.update(one.arg or "" for one in call.keywords)
    return any(_learns(one) for one in names) and (bool(several) or any(_teaches(one) for one in names))


def _is_worker(path: str, receiver: str, scope: Scope | None) -> bool:
    """Whether such an object, or a method of one, is called."""
    of_self = path.startswith("self.")
    while scope is not None:
        for home in scope.owner.lineage() if of_self and scope.owner is not None else (scope,):
            if home.workers and not home.workers.isdisjoint((path, receiver)):
                return True
        scope = scope.parent
    return False


def makes_object(value: ast.expr) -> bool:
    """Model(...), Model(...).to(device)."""
    func = value.func if isinstance(value, ast.Call) else None
    while isinstance(func, ast.Attribute) and isinstance(func.value, ast.Call):
        func = func.value.func
    return func is not None and makes_something(path_of(func) or "")


def _is_inherited(path: str, scope: Scope) -> bool:
    """A method that `self` has from a base class of another file: it may do anything."""
    lineage = scope.owner.lineage() if scope.owner is not None else ()
    if any(path in cls.assigned for cls in lineage):
        return False
    return not all(map(is_familiar, lineage))


def is_familiar(cls: Scope) -> bool:
    """Whether all that a class has it has from classes of this project, and of torch or Python."""
    return all(base in FAMILIAR_BASES or cls.class_scope(base) is not None for base in cls.bases)
