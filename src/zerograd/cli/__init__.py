"""The command line. Each command is a module of this folder; only the one that is asked for is imported."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module

from zerograd import __version__
from zerograd.errors import ZerogradError, unknown

CLEAN, FOUND, USAGE = 0, 1, 2

COMMANDS = {
    "check": "find gradient bugs in source files, without running them",
    "run": "run a script and check what every optimizer step uses",
    "report": "show a traced run as a page, or export it to other tools",
    "diff": "compare two runs",
    "rule": "list the rules, or explain one",
    "explain": "explain a finding step by step, a rule, or an error",
    "lab": "test published claims about zero_grad by experiment",
    "demo": "see two real bugs found, proved and fixed",
    "server": "show findings in an editor, as you type",
    "completion": "print a completion script for your shell",
}

HELP = f"""\
zerograd {__version__}: every gradient accounted for

usage: zerograd COMMAND [OPTIONS]

{os.linesep.join(f"  {name:<12}{about}" for name, about in COMMANDS.items())}

examples:
  zerograd check .                  check every Python file in this folder
  zerograd run train.py --lr 0.1    run a script and audit it
  zerograd explain train.py:10      explain the finding on that line

zerograd COMMAND --help lists the options of a command.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """The exit status: 0 clean, 1 findings, 2 we could not do what was asked."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        return _dispatch(arguments)
    except ZerogradError as error:
        print(f"zerograd: {error}", file=sys.stderr)
        return USAGE
    except BrokenPipeError:  # `zerograd check . | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return FOUND
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if os.environ.get("ZEROGRAD_DEBUG"):
            raise
        what = f"{type(error).__name__}: {error}".rstrip(": ")
        print(f"zerograd: crashed, which is our bug: {what}", file=sys.stderr)
        print("  Run again with ZEROGRAD_DEBUG=1 and report the traceback.", file=sys.stderr)
        return USAGE


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(HELP, end="")
        return CLEAN if arguments else USAGE
    command, *rest = arguments
    if command in ("-V", "--version"):
        print(f"zerograd {__version__}")
        return CLEAN
    if command not in COMMANDS:
        raise unknown("command", command, list(COMMANDS), slug="unknown-command")
    status: int = import_module(f"zerograd.cli.{command}").main(rest)
    return status
