"""Settings from zerograd.toml or [tool.zerograd] in the nearest pyproject.toml. The command line wins."""

import os
from collections.abc import Iterable
from typing import NamedTuple

from zerograd.core.findings import Finding
from zerograd.core.tally import is_shown
from zerograd.errors import UsageError, unknown
from zerograd.source.files.exclusion import EXCLUDED, Patterns


class Config(NamedTuple):
    """The keys of the file, with - for _; and where it stands."""

    select: tuple[str, ...] = ("ALL",)
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: dict[str, tuple[str, ...]] = {}
    exclude: tuple[str, ...] = EXCLUDED
    extend_exclude: tuple[str, ...] = ()
    respect_gitignore: bool = True
    force_exclude: bool = False
    possible: bool = False
    notes: bool = False
    output_format: str = ""
    baseline: str = ""
    root: str = ""  # the folder that patterns count from; not a key

    def codes(self) -> frozenset[str] | None:
        """The rules that are chosen; None: all of them, without asking which there are."""
        if self.select == ("ALL",) and not self.extend_select and not self.ignore:
            return None
        from zerograd.rules import select  # 25 ms: all rules are read

        return select((*self.select, *self.extend_select)) - select(self.ignore)

    def ignores_in_files(self) -> list[tuple[Patterns, frozenset[str]]]:
        """For each pattern of per-file-ignores, the rules that do not count there."""
        if not self.per_file_ignores:
            return []
        from zerograd.rules import select

        return [(Patterns([glob], self.root), select(rules)) for glob, rules in self.per_file_ignores.items()]

    def without_ignored(self, findings: Iterable[Finding]) -> list[Finding]:
        """Without those that per-file-ignores leaves out."""
        ignored = self.ignores_in_files()
        return [
            finding
            for finding in findings
            if not any(finding.code in codes and files.match(finding.site.path) for files, codes in ignored)
        ]

    def shows(self, finding: Finding) -> bool:
        return is_shown(finding, possible=self.possible, notes=self.notes)


_ROOTED = ("zerograd.toml", "pyproject.toml", ".git")  # what lies at the root of a project


def project_root(start: str) -> str:
    """The nearest folder at or above `start` that has a config file or is a repository; `start`, if there is none."""
    folder = start
    while not any(os.path.exists(os.path.join(folder, name)) for name in _ROOTED):
        above = os.path.dirname(folder)
        if above == folder:
            return start
        folder = above
    return folder


_KEYS = {field.replace("_", "-"): field for field in Config._fields if field != "root"}


def load_config(explicit: str | None, start: str) -> Config:
    """The named file, or the nearest one at or above `start`, or the defaults."""
    if explicit is not None:
        if not os.path.isfile(explicit):
            raise UsageError(f"no config file {explicit!r}", slug="broken-config")
        return _read(explicit) or Config()
    folder = os.path.abspath(start)
    while True:
        for name in ("zerograd.toml", "pyproject.toml"):
            found = _read(os.path.join(folder, name)) if os.path.isfile(os.path.join(folder, name)) else None
            if found is not None:
                return found
        if folder == os.path.dirname(folder):
            return Config()
        folder = os.path.dirname(folder)


def _read(path: str) -> Config | None:
    """None: a pyproject.toml that says nothing about zerograd."""
    import tomllib  # 5 ms: most folders have no config

    try:
        with open(path, "rb") as file:
            table = tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not TOML: {error}", slug="broken-config") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}", slug="broken-config") from None
    if os.path.basename(path) == "pyproject.toml":
        table = table.get("tool", {}).get("zerograd")
        if table is None:
            return None
    return _validate(path, table)


def _validate(path: str, table: object) -> Config:
    if not isinstance(table, dict):
        raise UsageError(f"{path}: tool.zerograd is not a table", slug="broken-config")
    values: dict[str, object] = {}
    for key, value in table.items():
        if key == "tool" and key not in _KEYS:
            cure = "In zerograd.toml they stand at the top, without [tool.zerograd]: notes = true."
            raise UsageError(f"{path}: its keys stand in a table", cure=cure, slug="broken-config")
        if key not in _KEYS:
            raise unknown(f"key in {path}", key, list(_KEYS), slug="broken-config")
        values[_KEYS[key]] = _typed(path, key, value, Config._field_defaults[_KEYS[key]])
    config = Config(root=os.path.dirname(os.path.abspath(path)))._replace(**values)  # type: ignore[arg-type]
    config.codes()  # unknown rules are said here, with the nearest name
    config.ignores_in_files()
    return config


def _typed(path: str, key: str, value: object, default: object) -> object:
    """The value as a Config holds it, which is what its default looks like."""
    match default:
        case bool():
            right, kind = isinstance(value, bool), "true or false"
        case str():
            right, kind = isinstance(value, str), "a string"
        case tuple():
            right, kind = _is_list(value), "a list of strings"
        case _:
            right, kind = isinstance(value, dict) and all(map(_is_list, value.values())), "a table of lists of strings"
    if not right:
        raise UsageError(f"{path}: {key} is {kind}, not {value!r}", slug="broken-config")
    if isinstance(value, dict):
        return {name: tuple(items) for name, items in value.items()}
    return tuple(value) if isinstance(value, list) else value


def _is_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)
