"""Settings from zerograd.toml or [tool.zerograd] in the nearest pyproject.toml. The command line wins."""

import os
from typing import NamedTuple

from zerograd.errors import UsageError, unknown


class Config(NamedTuple):
    select: tuple[str, ...] = ("ALL",)
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    possible: bool = False
    notes: bool = False

    def codes(self) -> frozenset[str] | None:
        """The rules that are chosen; None: all of them, without asking which there are."""
        if self.select == ("ALL",) and not self.ignore:
            return None
        from zerograd.rules import select  # 25 ms: all rules are read

        return select(self.select) - select(self.ignore)


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
    values: dict[str, tuple[str, ...] | bool] = {}
    for key, value in table.items():
        default = Config._field_defaults.get(key)
        if default is None:
            raise unknown(f"key in {path}", key, list(Config._fields), slug="broken-config")
        if isinstance(default, bool):
            if not isinstance(value, bool):
                raise UsageError(f"{path}: {key} is true or false, not {value!r}", slug="broken-config")
            values[key] = value
        else:
            if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
                raise UsageError(f"{path}: {key} is a list of strings, not {value!r}", slug="broken-config")
            values[key] = tuple(value)
    config = Config(**values)  # type: ignore[arg-type]
    config.codes()  # unknown rules are said here, with the nearest name
    return config
