"""Which stand-in a name asks for: first by what the program does with it, then by the word people have for it."""

import ast
import re
from collections import defaultdict
from typing import Any

import torch
from torch import nn

from laws.reader.driver.standins import BATCH, WIDTH, Engine, Loader, Net, Settings, made_of, sample

_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_OPTIMIZER = _words("optimizer optimizers optimiser optim opt optims opts adam sgd trainer solver")
_SCHEDULER = _words("scheduler schedulers sched schedule warmup annealing")
_LOADER = _words("loader loaders dataloader dataset batches data iterator samples trainloader")
_NETWORK = _words(
    "model models net nets network module generator discriminator actor critic policy encoder decoder g d q "
    "agent student teacher backbone head ema classifier target gen disc dis netd netg embedding learner layer "
    "rnn lstm transformer"
)
_CRITERION = _words("criterion loss fn func function mse bce ce objective crit metric entropy")
_NUMBER = _words(
    "n k num steps step epochs epoch size accum accumulation every iters count length interval freq frequency "
    "batch_size world rank index idx max min iterations dim accumulate start total period times repeats seed "
    "micro acc warm i iter number it unroll horizon"
)
_FRACTION = _words("lr rate norm clip weight alpha beta gamma eps lam lambda decay tau rho momentum coef")
_FLAG = _words("use is should do enable enabled amp fp16 flag training train clear last sync update first")
_SETTINGS = _words("args arg cfg config hparams hp settings options params flags conf c hps opts")
_WORD = {"mode": "train", "phase": "train", "split": "train", "reduction": "mean", "stage": "train"}
_TEXT = _words("path name dir folder file filename output tag key checkpoint")

_uses: dict[str, set[str]] = defaultdict(set)  # by last name, the attributes it is asked for in the program
_shapes: dict[str, set[str]] = defaultdict(set)  # by last name: called, iterated, indexed, entered, counted
_assigned: set[str] = set()
_made: list[tuple[str, nn.Module]] = []  # the networks of this root by name, for the optimizers that come after them


def learn_uses(tree: ast.Module) -> None:
    """Look through the program once."""
    _uses.clear()
    _assigned.clear()
    _assigned.update(_stored_attributes(tree))
    _shapes.clear()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and _last(node.value):
            _uses[_last(node.value)].add(node.attr)
        elif isinstance(node, ast.Call):
            _shapes[_last(node.func)].add("called")
            iterating = _last(node.func) in ("enumerate", "zip", "tqdm", "iter", "next", "list", "len", "cycle")
            if iterating and node.args:
                _shapes[_last(node.args[0])].add("iterated")
            if _last(node.func) == "range":
                for part in (each for arg in node.args for each in ast.walk(arg)):
                    _shapes[_last(part)].add("counted")
        elif isinstance(node, ast.For | ast.comprehension):
            _shapes[_last(node.iter)].add("iterated")
        elif isinstance(node, ast.Subscript):
            _shapes[_last(node.value)].add("indexed")
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            _shapes[_last(node.right)].add("counted")


def assigned() -> set[str]:
    """The attributes that the program sets somewhere, or defines as methods."""
    return _assigned


def _stored_attributes(tree: ast.Module) -> set[str]:
    stored = {
        node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    return stored | {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def _last(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def words(name: str) -> list[str]:
    return [part.lower() for part in _PART.findall(name)]


def given(name: str) -> Any:
    """The stand-in for a parameter or a name that nobody binds."""
    uses, said = _uses[name], set(words(name)) | {name.lower()}
    if uses & {"unscale_"} or "scaler" in said:
        return torch.amp.GradScaler("cpu", init_scale=4.0)
    if uses & {"backward"} and uses & {
        "step",
        "accumulate",
        "prepare",
        "autocast",
        "clip_grad_norm_",
        "no_sync",
        "setup",
    }:
        return Engine(optimizer_over(name))
    if said & {"accelerator", "fabric", "engine"}:
        return Engine(optimizer_over(name))
    if uses & {"backward"} and "step" not in uses:
        return made_of([net for _, net in _made] or [network(name)])
    if "called" in _shapes[name] and said & (_OPTIMIZER | _SCHEDULER) and not uses:
        return _maker(said)
    if _is_optimizer(uses, said):
        several = "iterated" in _shapes[name] or "indexed" in _shapes[name] or name.endswith("s")
        return [optimizer_over(name), optimizer_over(name)] if several and not uses else optimizer_over(name)
    if said & _SCHEDULER or "get_last_lr" in uses or (uses == {"step"} and not said & (_NETWORK | {"env"})):
        return torch.optim.lr_scheduler.LambdaLR(optimizer_over(name), lambda epoch: 1.0)
    if "counted" in _shapes[name]:
        return 2
    if said & _LOADER or ("iterated" in _shapes[name] and not uses & {"parameters", "step"} and not said & _SETTINGS):
        return Loader() if not said & {"models", "nets", "params", "parameters"} else networks(name)
    if said & _SETTINGS and (uses or "indexed" in _shapes[name]):
        return Settings()
    if said & {"params", "parameters", "weights"}:
        return list(network(name).parameters())
    if uses & {"parameters", "state_dict", "named_parameters", "zero_grad", "modules", "train", "eval"}:
        return network(name)
    if said & _CRITERION and not said & {"num"}:
        return made_of([])
    if said & _NETWORK and ("called" in _shapes[name] or uses):
        return network(name)
    return setting(name)


def _is_optimizer(uses: set[str], said: set[str]) -> bool:
    if uses & {"param_groups"} or ("step" in uses and "zero_grad" in uses):
        return True
    return bool(said & _OPTIMIZER) and (not uses or bool(uses & {"step", "zero_grad", "state_dict", "state", "append"}))


def _maker(said: set[str]) -> Any:
    """A class that is handed in, or a function that makes one of these."""

    def made(first: Any = None, *args: object, **kwargs: object) -> Any:
        optimizer = first if isinstance(first, torch.optim.Optimizer) else optimizer_over("")
        if said & _SCHEDULER:
            return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1.0)
        held = first.parameters() if isinstance(first, nn.Module) else first
        return torch.optim.SGD(held, lr=0.01) if held is not None and held is not optimizer else optimizer

    return made


def network(name: str) -> nn.Module:
    net = Net()
    _made.append((name, net))
    return net


def networks(name: str) -> list[nn.Module]:
    return [network(name), network(name)]


def forget_networks() -> None:
    _made.clear()


def optimizer_over(name: str) -> torch.optim.Optimizer:
    """Over the networks of this root that share a word with its name, opt_G over G; else over all of them."""
    told = set(words(name)) - _OPTIMIZER - _SCHEDULER
    own = [net for called, net in _made if told & set(words(called))]
    nets = own or [net for _, net in _made] or [network(name)]
    return torch.optim.SGD([one for net in dict.fromkeys(nets) for one in net.parameters()], lr=0.01)


def setting(name: str) -> Any:
    """A value for a setting of this name."""
    said = set(words(name)) | {name.lower()}
    for word, value in _WORD.items():
        if word in said:
            return value
    if _uses[name] and said & (_NUMBER | _FRACTION | _FLAG | _SETTINGS):
        return Settings() if "backward" not in _uses[name] and "scale_loss" not in _uses[name] else made_of([])
    if said & {"device", "gpu"}:
        return torch.device("cpu")
    if said & _FRACTION:
        return 0.5
    if said & _NUMBER or "counted" in _shapes[name]:
        return 2
    if said & _FLAG and "called" not in _shapes[name]:
        return True
    if said & _TEXT and not _uses[name]:
        return "text"
    return sample() if "called" not in _shapes[name] else made_of([])


def by_name(name: str, source: Any) -> Any:
    """An attribute that nobody defines, of a thing that nobody knows: made of that thing where it is data."""
    said = set(words(name))
    if said & {"optimizer", "scheduler", "scaler", "model", "loader"} or _uses[name] & {"parameters", "zero_grad"}:
        return given(name)
    if said & (_NUMBER | _FRACTION) and "loss" not in said and "called" not in _shapes[name]:
        return setting(name)
    return made_of([source], shape=() if "called" in _shapes[name] or "loss" in said else (BATCH, WIDTH))


def part_of_network(name: str, net: nn.Module) -> Any:
    """model.encoder is a network, model.config has settings, model.loss(x) is made of the whole."""
    said = set(words(name))
    if said & {"config", "cfg", "args", "hparams"}:
        return Settings()
    if _is_optimizer(_uses[name], said) or said & {"scheduler", "scaler"}:
        _made.append((name, net))
        return given(name)
    if "called" in _shapes[name] and not _uses[name] & {"parameters"} and not said & _NETWORK:
        return lambda *args, **kwargs: made_of([net, args, kwargs])
    return Net()
