"""Where a rewrite may put what it adds: behind the imports, under names that nobody has."""

import ast


def fresh(tree: ast.AST, name: str) -> str:
    """`name`, or the first of name_2, name_3, ... that the program does not spell."""
    spelled = {
        one
        for node in ast.walk(tree)
        for _, value in ast.iter_fields(node)
        for one in (value if isinstance(value, list) else [value])
        if isinstance(one, str)
    }
    new, count = name, 1
    while any(word.startswith(new) for word in spelled):
        count += 1
        new = f"{name}_{count}_"
    return new


def after_imports(tree: ast.Module, added: list[ast.stmt]) -> None:
    """Put statements behind the docstring and the imports that open the file: before anything runs that needs them."""
    at = 0
    for statement in tree.body:
        docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not docstring and not isinstance(statement, ast.Import | ast.ImportFrom):
            break
        at += 1
    tree.body[at:at] = added
