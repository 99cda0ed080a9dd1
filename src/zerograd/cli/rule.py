"""zerograd rule: what a rule means, with a program that breaks it and one that does not."""

import json
from collections.abc import Sequence

from zerograd.cli.options import Parser
from zerograd.errors import UsageError
from zerograd.report.rules import as_object, as_page
from zerograd.rules import REGISTRY, select

EXAMPLES = """\
  zerograd rule ZG001
  zerograd rule stale-accumulation
  zerograd rule --all --output-format json"""


def parser() -> Parser:
    parser = Parser("rule", "Explain rules by code, prefix or name.", examples=EXAMPLES)
    parser.add_argument("rules", nargs="*", metavar="RULE", help="ZG001, ZG0, stale-accumulation")
    parser.add_argument("--all", action="store_true", help="every rule there is")
    parser.add_argument("--output-format", choices=("text", "json"), default="text", help="default: text")
    return parser


def main(argv: Sequence[str]) -> int:
    options = parser().parse_args(argv)
    if not options.rules and not options.all:
        raise UsageError("no rule named", cure="Name one (zerograd rule ZG001), or --all.", slug="unknown-rule")
    codes = select(["ALL"] if options.all else options.rules)
    rules = [rule for code, rule in REGISTRY.items() if code in codes]
    if options.output_format == "json":
        print(json.dumps([as_object(rule) for rule in rules], indent=2))
    else:
        print("\n".join(as_page(rule) for rule in rules), end="")
    return 0
