"""zerograd demo: two real bugs found, proved and gone."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from zerograd.cli.options import Parser
from zerograd.errors import MissingExtra

EXAMPLES = """\
  zerograd demo
  zerograd demo --folder /tmp/demo"""


def parser() -> Parser:
    parser = Parser("demo", "Watch check, run and Step at work on one bundled training script.", examples=EXAMPLES)
    parser.add_argument("--folder", metavar="DIR", default="zerograd-demo", help="default: zerograd-demo")
    return parser


def main(argv: Sequence[str]) -> int:
    options = parser().parse_args(argv)
    for package in ("torch", "matplotlib"):
        if find_spec(package) is None:
            raise MissingExtra(
                f"zerograd demo needs {package}", cure="pip install 'zerograd[lab]'", slug="missing-extra"
            )
    from zerograd.lab.demo import play

    return 0 if play(Path(options.folder), print) else 1
