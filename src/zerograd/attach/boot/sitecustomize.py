"""Found first on PYTHONPATH by every Python under `zerograd run`: waits for torch, then starts the audit.

Runs before the user's code, so it imports next to nothing, and it makes way for any other sitecustomize.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from types import ModuleType


class _WhenTorch(importlib.abc.MetaPathFinder):
    """Lets torch be imported as usual, and starts the audit right behind it."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("torch")
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                from zerograd.attach.child import begin

                begin()

            setattr(spec.loader, "exec_module", exec_module)  # noqa: B010 (of this one loader)
        return spec


def _make_way() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    rest = [path for path in sys.path if os.path.abspath(path or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if "ZEROGRAD_RUN" in os.environ:
    sys.meta_path.insert(0, _WhenTorch())
_make_way()
