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

from zerograd.source.callees import maker_of
from zerograd.source.nodes import below
from zerograd.source.paths import path_of
from zerograd.source.scopes import Role, Scope

_SPEAKS = "def step("
_STORED = re.compile(r"\.step\s*=(?!=)")
_SET = re.compile(r"setattr\(\w*opt\w*, *['\"]step['\"]")
_HOOK = "step_post_hook"
_LONGEST = 40  # letters of a name
_CLEARS = frozenset({"zero_grad", "zero_", "clear_grad", "clear_grads"})


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
    """Whether a class of this file has a step() that clears, and does not train by itself."""
    if module.tidies is None:
        named = module.home is not None and _SPEAKS in module.home.text
        nodes = below(module.home.tree) if named and module.home is not None else []
        steps = [node for node in nodes if isinstance(node, ast.FunctionDef) and node.name == "step"]
        module.tidies = any(map(_is_tidy, steps))
    return module.tidies


def _puts_another(module: Scope) -> bool:
    """Whether some optimizer is given another step(), or a hook behind its own: optimizer.step = step_and_clear"""
    if module.repairs is None:
        text = module.home.text if module.home is not None else ""
        hooked = _HOOK in text and "zero_grad" in text
        stored = any("opt" in _owner(text, found.start()) for found in _STORED.finditer(text))
        module.repairs = hooked or stored or ("setattr(" in text and _SET.search(text) is not None)
    return module.repairs


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
