"""Thirteen scripts, each of another style: their output and status must be their own, however they train meanwhile."""

from typing import NamedTuple

# The first optimizer of a process costs as much time as torch itself: only the scripts that need one have it.
BACKWARD = """\
import torch

weight = torch.nn.Parameter(torch.ones(2))
weight.square().sum().backward()
"""
TRAIN = f"""\
{BACKWARD}
optimizer = torch.optim.SGD([weight], lr=0.1)
optimizer.step()
"""


class Script(NamedTuple):
    text: str  # what comes after the backward, or the training
    arguments: tuple[str, ...] = ()
    stdin: bytes = b""
    module: bool = False
    trains: bool = False  # else it prints the same without torch, and is compared without the time that torch takes


SCRIPTS = {
    "prints": Script("print(weight.tolist())\nprint('no newline', end='')\n", trains=True),
    "parses its arguments": Script(
        "import argparse, os, sys\n"
        "parser = argparse.ArgumentParser()\n"
        "parser.add_argument('--lr', type=float)\n"
        "parser.add_argument('-m')\n"
        "parser.add_argument('--strict', action='store_true')\n"
        "print(parser.parse_args(), sys.argv, __name__, os.path.basename(__file__), sys.path, __spec__)\n"
        "print('sitecustomize' in sys.modules, sys.flags)\n",
        ("--lr", "0.1", "-m", "x", "--strict"),
    ),
    "refuses its arguments": Script("import argparse\nargparse.ArgumentParser().parse_args()\n", ("--no-such-option",)),
    "exits with a status": Script("import sys\nprint('bye')\nsys.exit(3)\n"),
    "raises": Script("print('before')\nraise ValueError('broken')\n"),
    "kills itself": Script("import os, signal\nprint('x', flush=True)\nos.kill(os.getpid(), signal.SIGTERM)\n"),
    "is interrupted": Script("print('x')\nraise KeyboardInterrupt\n"),
    "leaves by os._exit": Script("import os\nprint('seen', flush=True)\nprint('lost')\nos._exit(4)\n"),
    "spawns and pickles from __main__": Script(
        "import multiprocessing\n\n\n"
        "class Point:\n    x = 3\n\n\n"
        "def work(point):\n    print(type(point).__module__, point.x, flush=True)\n    return point\n\n\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.map(work, [Point()])[0].x)\n"
    ),
    "forks, and loads data in workers": Script(
        "import os, warnings\n"
        "warnings.simplefilter('ignore')\n"
        "print(sorted(float(x) for x in torch.utils.data.DataLoader(torch.arange(4.0), num_workers=2)), flush=True)\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    optimizer.zero_grad()\n"
        "    weight.sum().backward()\n"
        "    optimizer.step()\n"
        "    print('child', flush=True)\n"
        "    os._exit(5)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n",
        trains=True,
    ),
    "reads standard input": Script("print([line for line in open(0)])\n", stdin=b"one\ntwo"),
    "becomes another program": Script(
        "import os, subprocess, sys\n"
        "print(subprocess.run([sys.executable, '-c', 'print(1)'], capture_output=True).stdout, flush=True)\n"
        "program = 'import sys; print(sys.argv, sys.path[:1]); sys.exit(6)'\n"
        "os.execv(sys.executable, [sys.executable, '-c', program, 'a'])\n"
    ),
    "writes other alphabets, as a module": Script(
        "import sys\n"
        "print(__name__, __package__, '\\u03b1\\u03b2 \\u6f22 \\U0001f600', sys.argv[1:], flush=True)\n"
        "sys.stdout.buffer.write(b'\\xff\\r\\x00')\n",
        ("-x",),
        module=True,
    ),
}
