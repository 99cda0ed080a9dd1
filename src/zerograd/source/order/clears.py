"""Clears that fill with zeros."""

import ast


def keeps_zeros(call: ast.Call) -> bool:
    """zero_grad(set_to_none=False), zero_grad(False)"""
    values = [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg == "set_to_none")]
    return any(isinstance(value, ast.Constant) and value.value is False for value in values)
