"""Programs rewritten without changing what they do: a tree in, a tree out, or None where the meaning might change.

Read `origins.py` first (how a line is followed), then the rewrites: `naming.py`, `carrying.py`, `moving.py`,
`shaping.py`, `calling.py`. `scopes.py` says which definition a name means, `placing.py` where something new may stand.
"""

import ast
from collections.abc import Callable, Mapping
from functools import partial

from laws.reader.readers import MAIN
from laws.reader.rewrites import calling, carrying, moving, naming, shaping
from laws.reader.rewrites.origins import Printed, Trees, printed

Rewrite = Callable[[ast.Module], ast.Module | Trees | None]

_NAMING = {
    "variables": naming.rename_variables,
    "parameters": naming.rename_parameters,
    "attributes": naming.rename_attributes,
    "functions": naming.rename_functions,
    "classes": naming.rename_classes,
    "all names": naming.rename_all,
}
_ROLES_KEPT = {f"{sort} renamed": partial(rename, keep_roles=True) for sort, rename in _NAMING.items()}
ROLES_RENAMED: Mapping[str, Rewrite] = {
    f"{sort} and role words renamed": partial(rename, keep_roles=False) for sort, rename in _NAMING.items()
}
ROLES_KEPT: Mapping[str, Rewrite] = {
    **_ROLES_KEPT,
    "through another name": carrying.through_another_name,
    "through a tuple": carrying.through_a_tuple,
    "through unpacking": carrying.through_unpacking,
    "through a dictionary": carrying.through_a_dictionary,
    "through a dataclass": carrying.through_a_dataclass,
    "through a bound method": carrying.through_a_bound_method,
    "through a list": carrying.through_a_list,
    "into helpers": moving.into_helpers,
    "into methods": moving.into_methods,
    "into closures": moving.into_closures,
    "into lambdas": moving.into_lambdas,
    "into another file": moving.into_another_file,
    "script in main()": shaping.script_in_main,
    "while for for": shaping.while_for_for,
    "counted while": shaping.counted_while,
    "early continue": shaping.early_continue,
    "other arm first": shaping.other_arm_first,
    "named tests": shaping.named_tests,
    "keyword arguments": calling.keyword_arguments,
}
REWRITES: Mapping[str, Rewrite] = {**ROLES_KEPT, **ROLES_RENAMED}


def rewritten(text: str, rewrite: Rewrite) -> Printed | None:
    """The program after a rewrite, and where its lines have gone; None where the rewrite does not apply."""
    done = rewrite(ast.parse(text))
    if done is None:
        return None
    return printed(done if isinstance(done, dict) else {MAIN: done})
