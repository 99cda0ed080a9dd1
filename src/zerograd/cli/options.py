"""An argument parser whose mistakes teach: one sentence, the nearest option, exit 2."""

import argparse
import os
from collections.abc import Sequence
from typing import NoReturn

from zerograd.errors import UsageError, unknown


class Parser(argparse.ArgumentParser):
    def __init__(self, command: str, about: str, *, examples: str = "", usage: str | None = None) -> None:
        super().__init__(
            prog=f"zerograd {command}",
            usage=usage,
            description=about,
            epilog=f"examples:\n{examples}" if examples else None,
            formatter_class=_formatter,
            allow_abbrev=False,
        )

    def parse_args(self, args: Sequence[str], namespace: None = None) -> argparse.Namespace:  # type: ignore[override]
        """Paths and options in any order, which plain argparse refuses: a.py --possible b.py"""
        if "--" in args:  # behind it everything is a path, and only plain argparse knows that
            return super().parse_args(args)
        return self.parse_intermixed_args(args)

    def error(self, message: str) -> NoReturn:
        prefix = "unrecognized arguments: "
        if message.startswith(prefix):
            given = message.removeprefix(prefix).split()[0].partition("=")[0]
            raise unknown(
                "option" if given.startswith("-") else "argument", given, self.options(), slug="unknown-option"
            )
        raise UsageError(f"{self.prog}: {message}", cure=f"See {self.prog} --help.", slug="unknown-option")

    def options(self) -> list[str]:
        return sorted(name for action in self._actions for name in action.option_strings)


def _formatter(prog: str) -> argparse.HelpFormatter:
    """With a width, or argparse asks shutil for one whenever an option is added: 5 ms of imports."""
    try:
        columns = int(os.environ.get("COLUMNS") or os.get_terminal_size().columns)
    except (ValueError, OSError):
        columns = 80
    return argparse.RawDescriptionHelpFormatter(prog, width=max(columns, 40) - 2)
