"""zerograd explain: what an error means, and what to do about it."""

from collections.abc import Sequence

from zerograd.cli.options import Parser
from zerograd.errors import unknown

EXAMPLES = """\
  zerograd explain missing-extra     the last word of an error message
  zerograd explain --all"""


def parser() -> Parser:
    parser = Parser("explain", "Say what an error of zerograd means, and what to do about it.", examples=EXAMPLES)
    parser.add_argument("words", nargs="*", metavar="WORD", help="the last word of an error message")
    parser.add_argument("--all", action="store_true", help="every error there is")
    return parser


def main(argv: Sequence[str]) -> int:
    from zerograd.report.errors import entries

    options = parser().parse_args(argv)
    known = entries()
    for word in options.words:
        if word not in known:
            raise unknown("error", word, list(known), slug="unknown-error")
    words = list(known) if options.all or not options.words else options.words
    print("\n\n".join(f"{word}\n\n{known[word]}" for word in words))
    return 0
