"""Settings from zerograd.toml or [tool.zerograd] in the nearest pyproject.toml. The command line wins."""

from pathlib import Path
from typing import NamedTuple

from zerograd.errors import UsageError, unknown
from zerograd.rules import select


class Config(NamedTuple):
    select: tuple[str, ...] = ("ALL",)
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    possible: bool = False
    notes: bool = False


def load_config(explicit: str | None, start: Path) -> Config:
    """The named file, or the nearest one at or above `start`, or the defaults."""
    if explicit is not None:
        path = Path(explicit)
        if not path.is_file():
            raise UsageError(f"no config file {explicit!r}", slug="broken-config")
        return _read(path) or Config()
    for folder in (start, *start.parents):
        for name in ("zerograd.toml", "pyproject.toml"):
            if (folder / name).is_file():
                found = _read(folder / name)
                if found is not None:
                    return found
    return Config()


def _read(path: Path) -> Config | None:
    """None: a pyproject.toml that says nothing about zerograd."""
    import tomllib  # 5 ms: most folders have no config

    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not TOML: {error}", slug="broken-config") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}", slug="broken-config") from None
    if path.name == "pyproject.toml":
        table = table.get("tool", {}).get("zerograd")
        if table is None:
            return None
    return _validate(path, table)


def _validate(path: Path, table: object) -> Config:
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
    select((*config.select, *config.ignore))  # unknown rules are said here, with the nearest name
    return config
