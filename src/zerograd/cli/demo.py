"""zerograd demo: two real bugs found, proved and gone."""

import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from zerograd.cli.options import Parser
from zerograd.errors import UsageError, missing_package

EXAMPLES = """\
  zerograd demo
  zerograd demo --folder /tmp/demo"""


def parser() -> Parser:
    parser = Parser("demo", "See check, run and Step at work on one bundled training script.", examples=EXAMPLES)
    parser.add_argument("--folder", metavar="DIR", help="the folder for its files (default: zerograd-demo)")
    return parser


def main(argv: Sequence[str]) -> int:
    options = parser().parse_args(argv)
    for package in ("torch", "matplotlib"):
        if find_spec(package) is None:
            raise missing_package("zerograd demo", package)
    from zerograd.lab.demo import play

    return 0 if play(_folder(options.folder), partial(print, flush=True)) else 1


def _folder(named: str | None) -> Path:
    """Made, and open for writing: beside the user, or among temporary files if that cannot be."""
    folder = Path(named or "zerograd-demo")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        if named:
            raise UsageError(f"{named}: cannot be written: {error.strerror}", slug="output-file") from None
        other = Path(tempfile.mkdtemp(prefix="zerograd-demo-"))
        print(f"zerograd: this folder cannot be written ({error.strerror}): the demo goes to {other}", file=sys.stderr)
        return other
