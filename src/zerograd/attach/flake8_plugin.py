"""flake8 with our codes: what `zerograd check` finds in a file, under the config that check would take.

flake8 loads this wherever zerograd is installed: until a file is checked, it imports next to nothing.
"""

import ast
import os
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from zerograd import __version__

if TYPE_CHECKING:
    from zerograd.core.findings import Finding
    from zerograd.rules.rule import Rule
    from zerograd.source.files.config import Config
    from zerograd.source.project.files import Project

Told = tuple[int, int, str, type]  # line, column from 0, what flake8 prints, and who found it


class Plugin:
    """flake8 makes one for each file, and hands it what its parameters ask for by name."""

    name = "zerograd"
    version = __version__

    def __init__(self, tree: ast.AST, lines: Sequence[str], filename: str) -> None:
        self._text = "".join(lines)  # read anew: the tree of flake8 is not ours to change
        self._path = os.path.normpath(filename)

    def run(self) -> Iterator[Told]:
        from zerograd.source.relevance import may_train
        from zerograd.source.text.addressed import may_allow

        if not (may_train(self._text) or may_allow(self._text)):
            return
        from zerograd.errors import SourceError
        from zerograd.report.colour import Paint
        from zerograd.report.text import sentence

        try:
            found = _shown(self._text, self._path, _chosen(os.getcwd()))
        except SourceError as error:  # what is no Python flake8 tells itself, and does not come here
            print(f"zerograd: {error.what}", file=sys.stderr)
            return
        for finding in found:
            yield finding.site.line, finding.site.column - 1, sentence(finding, Paint(on=False)), Plugin


class _Chosen(NamedTuple):
    config: "Config"
    rules: "tuple[Rule, ...]"
    project: "Project"  # what the files import is read once in a process


@lru_cache(maxsize=1)
def _chosen(folder: str) -> _Chosen:
    from zerograd.rules import REGISTRY
    from zerograd.source.files.config import load_config
    from zerograd.source.project.files import Project

    config = load_config(None, folder)
    codes = config.codes()
    return _Chosen(config, tuple(rule for code, rule in REGISTRY.items() if not codes or code in codes), Project("."))


def _shown(text: str, path: str, chosen: _Chosen) -> "list[Finding]":
    from zerograd.core.findings import once
    from zerograd.source.check import check_text

    config = chosen.config
    found = once(check_text(text, path, rules=chosen.rules, project=chosen.project))
    here = (finding for finding in found if os.path.normpath(finding.site.path) == path)
    shown = [finding for finding in config.without_ignored(here) if config.shows(finding)]
    if not config.baseline:
        return shown
    from zerograd.report.baseline import sort_out
    from zerograd.report.documents import Documents

    left, _, _ = sort_out(shown, os.path.join(config.root, config.baseline), Documents({path: text}))
    return left
