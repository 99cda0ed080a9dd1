"""zerograd lab: settle published claims by experiment, on this machine."""

import json
import sys
from collections.abc import Sequence

from zerograd.cli.options import Parser
from zerograd.errors import MissingExtra

EXAMPLES = """\
  zerograd lab                 every claim
  zerograd lab C05 C07         these two
  zerograd lab --list          what they say
  zerograd lab --json out.json"""


def parser() -> Parser:
    parser = Parser("lab", "Run the experiments behind published claims about zero_grad.", examples=EXAMPLES)
    parser.add_argument("claims", nargs="*", metavar="CLAIM", help="C01, C05, ... (default: all)")
    parser.add_argument("--list", action="store_true", help="say what the claims are and stop")
    parser.add_argument("--json", metavar="FILE", help="also write the results there (-: to standard output only)")
    return parser


def main(argv: Sequence[str]) -> int:
    options = parser().parse_args(argv)
    try:
        from zerograd.lab.claim import load_claims
        from zerograd.lab.experiment import settle
        from zerograd.lab.table import table_of
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"zerograd lab needs {error.name}", cure="pip install 'zerograd[lab]'", slug="missing-extra"
        ) from None
    claims = load_claims(options.claims)
    if options.list:
        for claim in claims:
            print(f"{claim.id}  {claim.statement}")
        return 0
    from rich.console import Console
    from rich.progress import track

    console = Console(file=sys.stderr if options.json == "-" else sys.stdout)
    results = [
        settle(claim) for claim in track(claims, "settling claims", console=Console(stderr=True), transient=True)
    ]
    document = json.dumps({"claims": [result.as_object() for result in results]}, indent=2)
    if options.json == "-":
        print(document)
    else:
        console.print(table_of(results))
    if options.json and options.json != "-":
        with open(options.json, "w", encoding="utf-8") as file:
            file.write(document + "\n")
    return 0
