"""Found first on PYTHONPATH by every Python under `zerograd run`: waits for torch, then starts the audit.

Runs before the user's code, in whatever Python the user's code starts: so it imports next to nothing, it is written for
Pythons that are older than ours, it never makes an import fail, and it makes way for any other sitecustomize.
"""

import _thread
import importlib.machinery
import importlib.util
import os
import sys
from types import ModuleType


class _WhenTorch:
    """Lets torch be imported as usual, and starts the audit right behind it."""

    def __init__(self) -> None:
        self._asking: set[int] = set()

    def find_spec(
        self, name: str, path: object, target: "ModuleType | None" = None
    ) -> "importlib.machinery.ModuleSpec | None":
        thread = _thread.get_ident()
        if name != "torch" or thread in self._asking:
            return None
        self._asking.add(thread)  # the other finders are asked through the same door
        try:
            spec = importlib.util.find_spec("torch")
        finally:
            self._asking.discard(thread)
        # To look for torch is not to import it: we stay until it has been executed.
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                _begin()

            setattr(spec.loader, "exec_module", exec_module)  # noqa: B010 (of this one loader)
        return spec


def _begin() -> None:
    try:
        from zerograd.attach.child import begin

        begin()
    except Exception as error:  # another interpreter, without zerograd or with an older torch: its import must not fail
        if sys.stderr is not None:
            sys.stderr.write(f"zerograd: this process is not audited: {_why(error)} in {sys.executable}\n")
        _leave_word()


def _why(error: Exception) -> str:
    try:
        from zerograd.errors import without_torch

        told = isinstance(error, (ImportError, AttributeError)) and without_torch("zerograd", error)
        return told.what if told else repr(error)
    except Exception:
        return repr(error)


def _leave_word() -> None:
    """For a launcher that waits for a verdict: silence here is no acquittal."""
    import json

    try:
        desk = json.loads(os.environ["ZEROGRAD_RUN"])["desk"]
        if desk:
            open(os.path.join(desk, "deaf-%d" % os.getpid()), "w").close()  # noqa: UP031
    except Exception:
        return


def _make_way() -> None:
    """Leave sys.path and sys.modules as they would be without us, and run the sitecustomize that we hide."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        # `site` takes this for "there is none", and the name is free for a module of the script's own.
        raise ImportError("zerograd's sitecustomize has done its work", name="sitecustomize")
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


if "ZEROGRAD_RUN" in os.environ:
    sys.meta_path.insert(0, _WhenTorch())
if __name__ == "sitecustomize":
    _make_way()
