"""What a first call makes and only later ones use: `if not hasattr(self, "schedule"): make it; else: move it`."""

import ast

from zerograd.core.events import Site
from zerograd.source.nodes import below
from zerograd.source.paths import path_of
from zerograd.source.program import Program


def is_made_otherwise(program: Program, path: str, site: Site | None) -> bool:
    """Whether the branch that leads to a place has another arm, in which what is used there is made."""
    if site is None or site.path != program.path:
        return False
    homes = [one.node for one in program.roots.functions if _spans(one.node, site.line)]
    for branch in (branch for home in homes for branch in program.nodes(home).of(ast.If)):
        arms = [branch.body, branch.orelse]
        for arm, other in (arms, arms[::-1]):
            if any(_spans(one, site.line) for one in arm):
                made = [part for one in other for part in below(one) if isinstance(part, ast.Assign)]
                if any(path_of(target) == path for one in made for target in one.targets):
                    return True
    return False


def _spans(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)
