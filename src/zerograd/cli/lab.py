"""zerograd lab: settle published claims by experiment, on this machine."""

import json
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from zerograd.cli.options import Parser
from zerograd.errors import UsageError, missing_package

if TYPE_CHECKING:
    from zerograd.lab.claim import Claim
    from zerograd.lab.experiment import Result

EXAMPLES = """\
  zerograd lab                           every claim, and the page zerograd-lab/lab.html
  zerograd lab C05 C13                   these two
  zerograd lab C22 --count ~/project     also count the loops of that project
  zerograd lab --list                    list the claims
  zerograd lab --output-format json      the results as JSON
  zerograd lab --from zerograd-lab/lab.json        run nothing, show an earlier run again
  zerograd lab C05 --from zerograd-lab/lab.json    run one claim again, keep the rest"""


def parser() -> Parser:
    parser = Parser("lab", "Run the experiments behind published claims about zero_grad.", examples=EXAMPLES)
    parser.add_argument("claims", nargs="*", metavar="CLAIM", help="C01, C05, ... (default: all)")
    parser.add_argument("--list", action="store_true", help="list the claims and stop")
    parser.add_argument(
        "--folder", metavar="DIR", default="zerograd-lab", help="the folder for the page, figures and results"
    )
    parser.add_argument("--output-format", choices=("text", "json"), default="text", help="default: text, and a page")
    parser.add_argument("--output-file", metavar="FILE", help="with json: the file to write (default: standard output)")
    parser.add_argument(
        "--json",
        metavar="FILE",
        help="same as --output-format json --output-file FILE (-: standard output)",
    )
    parser.add_argument(
        "--from",
        metavar="FILE",
        dest="earlier",
        help="run only the named claims; take the rest from an earlier lab.json",
    )
    parser.add_argument("--docs", metavar="DIR", help="also write the results to DIR as Markdown")
    parser.add_argument("--count", metavar="PATH", help="for C22: count the loops in PATH as well")
    return parser


def main(argv: Sequence[str]) -> int:
    options = parser().parse_args(argv)
    where = options.json or (options.output_file or "-" if options.output_format == "json" else "")
    if options.output_file and not where:
        raise UsageError("--output-file goes with --output-format json", slug="unknown-option")
    for package in ("torch", "matplotlib"):
        if find_spec(package) is None:
            raise missing_package("zerograd lab", package)
    from zerograd.lab.claim import load_claims
    from zerograd.lab.experiment import document, read_results

    claims = load_claims(options.claims)
    if options.list:
        for claim in claims:
            print(f"{claim.id}  {claim.statement}")
        return 0
    if options.count:
        from zerograd.lab import placement

        placement.count_below(options.count)
    earlier = read_results(Path(options.earlier)) if options.earlier else []
    settled = _settled(claims) if options.claims or not options.earlier else []
    results = sorted({one.claim.id: one for one in (*earlier, *settled)}.values(), key=lambda one: one.claim.id)
    found = json.dumps(document(results), indent=1) + "\n"
    if where:
        _write(where, found)
        return 0
    _publish(results, found, Path(options.folder), docs=options.docs)
    return 0


def _settled(claims: "list[Claim]") -> "list[Result]":
    from zerograd.lab.experiment import settle_all

    if not sys.stderr.isatty():
        number = count(1)
        return settle_all(claims, begun=lambda claim: _tell(claim, f"{next(number)}/{len(claims)}"))
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=len(claims))
        begun = 0

        def told(claim: "Claim") -> None:
            nonlocal begun
            progress.update(task, completed=begun, description=f"{claim.id} {claim.statement[:44]}")
            begun += 1

        return settle_all(claims, begun=told)


def _tell(claim: "Claim", position: str) -> None:
    """One line as each claim begins: in a log, too, somebody waits."""
    print(f"zerograd lab: {position}  {claim.id} {claim.statement}", file=sys.stderr, flush=True)


def _publish(results: "list[Result]", found: str, folder: Path, *, docs: str | None) -> None:
    from rich.console import Console

    from zerograd.lab.markdown import write_docs
    from zerograd.lab.page import write_page
    from zerograd.lab.table import tables_of

    Console().print(tables_of(results))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "lab.json").write_text(found, encoding="utf-8")
    write_page(results, folder)
    if docs:
        write_docs(results, Path(docs))
    seconds = sum(result.seconds for result in results)
    print(
        f"{len(results)} claim{'s' * (len(results) != 1)} in {seconds:.0f} s of CPU. The page: {folder / 'lab.html'}",
        file=sys.stderr,
    )


def _write(where: str, text: str) -> None:
    if where == "-":
        sys.stdout.write(text)
    else:
        Path(where).write_text(text, encoding="utf-8")
