"""Paths that are numbers by all that is said of them: args.weight, config.BETA, constants.LAMBDA_GP."""

import ast
import re

from zerograd.source.names.literals import default_of
from zerograd.source.names.scopes import Function
from zerograd.source.text.patterns import pattern
from zerograd.source.values.reading import Reading

_OF_SETTINGS = pattern(
    r"^(self\.)?(args?|opts?|options|cfg|conf|config|hparams|hps?|settings|flags|FLAGS)"
    r"(\.|\[')(?!(T|mT|H|params?|param_groups|latents?|model|net)\b)"
)
_COEFFICIENT = pattern(r"coef|lambda|lmbda|gamma|(^|_)eps", re.IGNORECASE)
_CAPITALS = pattern(r"^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$")
_TENSORS = pattern(r"LATENT|EMBED|PARAM|MODEL|NET$|TENSOR|LEAF|GRAPH")
_SHORT = 3  # letters: W and B may be somebody's weights


def of_settings(path: str) -> bool:
    return _OF_SETTINGS.search(path) is not None


def is_set(path: str, function: Reading) -> bool:
    """Whether it is one of the settings that a program is given, or a constant that is imported."""
    return (of_settings(path) or _is_constant(path, function)) and not function.file.says(f"{path} = ")


def _is_constant(path: str, function: Reading) -> bool:
    """import constants as ct, and ct.LAMBDA_GP; from config import LAMBDA_GP"""
    root, _, last = path.rpartition(".")
    scope = function.scope
    imported = (root or path) in scope.module.imports and not scope.owns(root or path)
    named = len(last) >= _SHORT and _CAPITALS.match(last) is not None and _TENSORS.search(last) is None
    return imported and named and not scope.dotted(path).startswith("torch.")


def is_named(path: str) -> bool:
    """Whether it is called one: self.lambda_gp."""
    return _COEFFICIENT.search(path.rpartition(".")[2]) is not None


def is_told(begin: Function, name: str) -> bool:
    """def __init__(self, smooth=1.0)"""
    default = default_of(begin.node, name)
    return isinstance(default, ast.Constant) and isinstance(default.value, float | int)
