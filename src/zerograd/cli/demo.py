"""zerograd demo: a real bug found, proved and gone."""

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
    if find_spec("torch") is None:
        raise MissingExtra("zerograd demo needs torch", cure="pip install 'zerograd[torch]'", slug="missing-extra")
    from zerograd.lab.demo import play

    return 0 if play(Path(options.folder), print) else 1
