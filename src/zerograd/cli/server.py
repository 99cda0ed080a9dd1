"""zerograd server: findings in an editor, as one types, over the Language Server Protocol."""

import sys
from collections.abc import Sequence

from zerograd.cli.options import Parser
from zerograd.errors import missing_package

EXAMPLES = """\
  zerograd server        what an editor starts; it speaks on standard input and output
  pip install pygls      what it needs in addition to zerograd"""


def parser() -> Parser:
    parser = Parser(
        "server", "Language server: findings, fixes and rule pages in your editor, as you type.", examples=EXAMPLES
    )
    parser.add_argument(
        "--stdio", action="store_true", help="accepted for clients that pass it; there is no other transport"
    )
    return parser


def main(argv: Sequence[str]) -> int:
    parser().parse_args(argv)
    try:
        from zerograd.server.service import Service
    except ModuleNotFoundError:  # of pygls, or of what comes with it
        raise missing_package("zerograd server", "pygls") from None
    if sys.stdin.isatty():
        print("zerograd server: waiting for an editor on standard input", file=sys.stderr)
    Service().server.start_io()
    return 0
