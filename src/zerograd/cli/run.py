"""zerograd run: a script under the audit."""

from collections.abc import Sequence

from zerograd.cli.options import Parser
from zerograd.errors import UsageError, missing_package

_VALUED = ("--trace", "--mode", "--sample", "--report")
EXAMPLES = """\
  zerograd run train.py --lr 0.1           everything behind the script is the script's
  zerograd run -m package.train            a module
  zerograd run --trace traces train.py     keep every event, also of a run that is killed
  zerograd run --report report.html train.py
  zerograd run --mode full train.py        also losses and norms, and the first number that is none
  zerograd run --strict train.py           exit 1 if a certain error or warning was found
  zerograd run --strict --require-all train.py   or if a step was not audited
  torchrun --nproc-per-node 2 -m zerograd run train.py
  accelerate launch -m zerograd run train.py"""


def parser() -> Parser:
    parser = Parser(
        "run",
        "Run a script and prove what every optimizer step consumed. Its output, arguments and exit status are its own.",
        examples=EXAMPLES,
        usage="zerograd run [OPTIONS] SCRIPT [ARGS ...]\n       zerograd run [OPTIONS] -m MODULE [ARGS ...]",
    )
    parser.add_argument("--strict", action="store_true", help="exit 1 if a certain error or warning was found")
    parser.add_argument("--require-all", action="store_true", help="exit 1 if a step was not audited")
    parser.add_argument("--trace", metavar="FOLDER", default="", help="write a trace of every process into FOLDER")
    parser.add_argument("--report", metavar="FILE", default="", help="write a page about the run: see zerograd report")
    parser.add_argument("--live", action="store_true", help="a panel below the script's output, while it runs")
    parser.add_argument("--mode", choices=("lean", "full"), default="lean", help="full: read losses and norms as well")
    parser.add_argument("--sample", metavar="N", type=int, default=1, help="look at two steps of every N")
    parser.add_argument("--possible", action="store_true", help="also show what a doubt may excuse")
    parser.add_argument("--notes", action="store_true", help="also show what only costs time or memory")
    parser.add_argument("-m", dest="module", action="store_true", help="the next word is a module, as in python -m")
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
