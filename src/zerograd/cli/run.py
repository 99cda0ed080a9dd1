"""zerograd run: a script under the audit."""

from collections.abc import Sequence

from zerograd.cli.options import Parser
from zerograd.errors import UsageError, missing_package

_VALUED = ("--trace", "--mode", "--sample", "--report")
EXAMPLES = """\
  zerograd run train.py --lr 0.1           options after the script belong to the script
  zerograd run -m package.train            a module
  zerograd run --trace traces train.py     keep every event, even if the run is killed
  zerograd run --report report.html train.py
  zerograd run --mode full train.py        also read losses and norms, and find the first NaN or infinity
  zerograd run --strict train.py           exit 1 if an error or a warning was found (possible findings do not count)
  zerograd run --strict --require-all train.py   or if a step could not be audited
  torchrun --nproc-per-node 2 -m zerograd run train.py
  accelerate launch -m zerograd run train.py"""


def parser() -> Parser:
    parser = Parser(
        "run",
        "Run a script and check the gradients that every optimizer step uses. Output and exit status stay the same.",
        examples=EXAMPLES,
        usage="zerograd run [OPTIONS] SCRIPT [ARGS ...]\n       zerograd run [OPTIONS] -m MODULE [ARGS ...]",
    )
    parser.add_argument("--strict", action="store_true", help="exit 1 if a certain error or warning was found")
    parser.add_argument("--require-all", action="store_true", help="exit 1 if a step could not be audited")
    parser.add_argument("--trace", metavar="FOLDER", default="", help="write a trace of every process to FOLDER")
    parser.add_argument(
        "--report", metavar="FILE", default="", help="write a page about the run, as zerograd report does"
    )
    parser.add_argument("--live", action="store_true", help="show a live panel below the script's output")
    parser.add_argument(
        "--mode", choices=("lean", "full"), default="lean", help="full: also read losses and norms (default: lean)"
    )
    parser.add_argument("--sample", metavar="N", type=int, default=1, help="audit two of every N steps (default: all)")
    parser.add_argument("--possible", action="store_true", help="also show possible findings")
    parser.add_argument("--notes", action="store_true", help="also show notes: what only costs time or memory")
    parser.add_argument("-m", dest="module", action="store_true", help="run a module, as python -m does")
    return parser


def main(argv: Sequence[str]) -> int:
    from importlib.util import find_spec

    from zerograd.attach.launch import launch
    from zerograd.attach.settings import Settings

    ours, script = _split(argv)
    options = parser().parse_args(ours)
    if not script:
        raise UsageError("no script to run", cure="zerograd run train.py", slug="no-script")
    if script[0].endswith(".ipynb") and not options.module:
        cure = "Write %load_ext zerograd into its first cell, and run it as ever"
        raise UsageError(f"{script[0]} is a notebook", cure=cure, slug="no-script")
    if find_spec("torch") is None:
        raise missing_package("zerograd run", "torch")
    settings = Settings(
        trace=options.trace,
        possible=options.possible,
        notes=options.notes,
        mode=options.mode,
        sample=options.sample,
        live=options.live,
    )
    return launch(
        script,
        module=options.module,
        strict=options.strict,
        settings=settings,
        report=options.report,
        require_all=options.require_all,
    )


def _split(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """Our options end at the first word that is not one: everything from there on belongs to the script."""
    for position, word in enumerate(argv):
        if not word.startswith("-") and (not position or argv[position - 1] not in _VALUED):
            return list(argv[:position]), list(argv[position:])
    return list(argv), []
