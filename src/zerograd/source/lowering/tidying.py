"""Optimizers whose step() clears behind itself: a subclass, a wrapper, a method that was put in its place, a hook.

class Tidy(torch.optim.Adam):
    def step(self, closure=None):
        loss = super().step(closure)
        self.zero_grad()
        return loss

Of an optimizer whose class is known, its own step() tells. One that came from elsewhere may be any of those that its
file, or the file of the function that made it, speaks of.
"""

import ast
import re

from zerograd.source.lowering.callees import maker_of
from zerograd.source.names.scopes import Role, Scope
from zerograd.source.text.nodes import below, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.text.wording import BUILTINS

_SPEAKS = "def step("
_STORED = pattern(r"\.step\s*=(?!=)")
_SET = pattern(r"setattr\(\w*opt\w*, *['\"]step['\"]")
_HOOK = "step_post_hook("
_LONGEST = 40  # letters of a name
_CLEARS = frozenset({"zero_grad", "zero_", "clear_grad", "clear_grads"})
_ALIKE = frozenset({"zero_grad", "add_param_group", "param_groups", "__getattr__"})
_OPTIMIZER = pattern(r"[Oo]pt|Adam|SGD|RMSprop|Adagrad|Lookahead|SAM\b")
_TRAINED = pattern(
    r"model|net|polic|actor|critic|agent|env|load|data|(^|_)(c(on)?fi?g|args|hparams|dim|layers?|module)s?$|size|criteri|loss"
)


def may_clear(path: str, scope: Scope) -> bool:
    """Whether the step of this optimizer may leave nothing behind."""
    module, binding = scope.module, scope.lookup(path)
    if _puts_another(module):
        return True
    if binding is not None and binding.role is Role.OPTIMIZER:
        cls = scope.class_scope(binding.made_by) if not binding.made_by.startswith("torch.") else None
        return cls is not None and any(map(_is_tidy, _run_by_step(cls)))
    named = maker_of(path, scope)
    maker = scope.function(named) if named is not None else None
    homes = [module] if maker is None else [module, maker.scope.module]
    return any(_speaks(home) or _puts_another(home) for home in homes)


def _run_by_step(cls: Scope) -> list[ast.AST]:
    """The step() of a class and of those it derives from, and the methods that they call."""
    steps = [one.functions["step"].node for one in cls.lineage() if "step" in one.functions]
    called = {path_of(part.func) or "" for step in steps for part in below(step) if isinstance(part, ast.Call)}
    methods = (cls.method(path[5:]) for path in sorted(called) if path.startswith("self."))
    return [*steps, *(method.node for method in methods if method is not None)]


def _speaks(module: Scope) -> bool:
    """Whether a class of this file has a step() that clears, and may be taken for an optimizer."""
    if module.tidies is None:
        named = module.home is not None and _SPEAKS in module.home.text
        nodes = below(module.home.tree) if named and module.home is not None else []
        classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
        module.tidies = module.home is not None and any(_is_tidy_class(one, module.home.text) for one in classes)
    return module.tidies


def _is_tidy_class(cls: ast.ClassDef, text: str) -> bool:
    """An optimizer by its name, by what else it does or where it is made, or what wraps one and nothing else: a
    trainer, whose step() may well clear, has a network; and an environment has nothing that steps."""
    methods = {node.name: node for node in cls.body if isinstance(node, ast.FunctionDef)}
    if "step" not in methods or not _is_tidy(methods["step"]):
        return False
    if not _ALIKE.isdisjoint(methods) or any(map(_OPTIMIZER.search, (cls.name, *map(written, cls.bases)))):
        return True
    calls = [part.func for part in below(cls) if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute)]
    if any(func.attr == "step" and written(func.value) == "super()" for func in calls):
        return True
    if _is_taken_for_optimizer(cls.name, text):
        return True
    called, given = {func.attr for func in calls}, _given(cls)
    return bool(given) and not any(map(_TRAINED.search, given)) and "backward" not in called and "step" in called


def _is_taken_for_optimizer(name: str, text: str) -> bool:
    """optimizer = Updater(model), run(model, Updater(model)), or by its name: run(model, updater)"""
    if re.search(rf"(opt\w* *= *|[(,] *|return ){name}\(", text):
        return True
    made = set(re.findall(rf"(\w+) *= *{name}\(", text))
    return any(re.search(rf"[(,=] *{one} *[,)]", text) for one in made)


def _given(cls: ast.ClassDef) -> list[str]:
    """What an object of a class is made of: the parameters of __init__(), or the fields of a dataclass."""
    fields = [node.target for node in cls.body if isinstance(node, ast.AnnAssign)]
    made = [node.args for node in cls.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
    names = [one.arg for args in made for one in (*args.args[1:], *args.kwonlyargs)]
    return [name.lower() for name in (*names, *(one.id for one in fields if isinstance(one, ast.Name)))]


def _puts_another(module: Scope) -> bool:
    """Whether some optimizer is given another step(), or a hook behind its own: optimizer.step = step_and_clear"""
    if module.repairs is None:
        text = module.home.text if module.home is not None else ""
        hooked = _HOOK in text and "zero_grad" in text
        stored = any("opt" in _owner(text, found.start()) for found in _STORED.finditer(text))
        stored = stored and module.home is not None and any(map(_is_given_step, below(module.home.tree)))
        module.repairs = hooked or stored or ("setattr(" in text and _SET.search(text) is not None)
    return module.repairs


def _is_given_step(node: ast.AST) -> bool:
    """optimizer.step = step_and_clear; where `opt` is short for options it is a number: opt.step = opt.epochs // 3"""
    match node:
        case ast.Assign(targets=[ast.Attribute(value=owner, attr="step")], value=value):
            called = path_of(value.func) if isinstance(value, ast.Call) else None
            runs = isinstance(value, ast.Name | ast.Lambda | ast.Attribute | ast.Call) and called not in BUILTINS
            return runs and "opt" in (path_of(owner) or "").rpartition(".")[2].lower()
    return False


def _owner(text: str, end: int) -> str:
    """The last name that stands before a place."""
    return re.split(r"\W", text[max(end - _LONGEST, 0) : end])[-1].lower()


def _is_tidy(function: ast.AST) -> bool:
    """Whether a method clears gradients; those that do nothing else, and those that train, do not count."""
    if getattr(function, "name", "") in _CLEARS:
        return False
    parts = below(function)
    called = {part.func.attr for part in parts if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute)}
    emptied = (target for part in parts if isinstance(part, ast.Assign) for target in part.targets)
    by_hand = any(isinstance(target, ast.Attribute) and target.attr == "grad" for target in emptied)
    return (not _CLEARS.isdisjoint(called) or by_hand) and "backward" not in called
