"""Each rewrite, by what it makes of a small program; and the lines, followed."""

import ast

import pytest

from laws.reader.corpus import cases
from laws.reader.metamorphic import parses
from laws.reader.readers import MAIN
from laws.reader.rewrites import REWRITES, ROLES_KEPT, rewritten

PROGRAM = """\
import torch
from torch import nn

class Holder:
    def __init__(self, net):
        self.net = net

    def loss(self, x):
        return self.net(x).mean()

def learn(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    if optimizer:
        optimizer.step()
    else:
        print('none')

model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), 0.1)
holder = Holder(model)
for i in range(3):
    learn(opt, holder.loss(torch.ones(8, 4)))
    if i:
        print(i)
"""
STEP = 15  # the line of optimizer.step()

MADE = {
    "variables renamed": "model_1 = nn.Linear(4, 1)",
    "parameters renamed": "def learn(optimizer_3, loss_4):",
    "attributes renamed": "self.net_2 = net",
    "functions renamed": "v_1(opt, holder.loss(torch.ones(8, 4)))",
    "classes renamed": "holder = V_1(model)",
    "all names renamed": "opt_2 = torch.optim.SGD(model_1.parameters(), 0.1)",
    "through another name": "opt = made2",
    "through a tuple": "made1 = (nn.Linear(4, 1), None)",
    "through unpacking": "made1, model = (None, nn.Linear(4, 1))",
    "through a dictionary": "holder = made3['held']",
    "through a dataclass": "made1 = Holder_2_(nn.Linear(4, 1))",
    "through a bound method": "act3 = optimizer.step",
    "through a list": "for each in [loss]:",
    "into helpers": "do_it(optimizer)",
    "into methods": "hands.tidy(optimizer)",
    "into closures": "def pull_now_2():",
    "into lambdas": "act(lambda: optimizer.step())",
    "into another file": "from hands import tidy, pull, do_it",
    "while for for": "i = next(source1)",
    "counted while": "while turn1 < turn1_end:",
    "early continue": "if not i:",
    "other arm first": "if not optimizer:",
    "named tests": "decided1 = optimizer",
    "keyword arguments": "opt = torch.optim.SGD(params=model.parameters(), lr=0.1)",
}


@pytest.mark.parametrize("name", MADE)
def test_what_a_rewrite_makes(name: str) -> None:
    done = rewritten(PROGRAM, REWRITES[name])
    assert done is not None
    lines = [line.strip() for line in done.files[MAIN].splitlines()]
    assert MADE[name] in lines


def test_every_rewrite_is_shown() -> None:
    assert set(MADE) | {"script in main()"} == set(ROLES_KEPT)


def test_a_script_goes_into_main_only_if_nobody_outside_needs_its_names() -> None:
    script = REWRITES["script in main()"]
    done = rewritten("import torch\nx = torch.ones(1)\nprint(x)", script)
    assert done is not None
    assert done.files[MAIN] == "import torch\n\ndef main():\n    x = torch.ones(1)\n    print(x)\nmain()"
    assert rewritten("x = 1\ndef f():\n    return x\nf()", script) is None


def test_role_words_are_kept_or_renamed_too() -> None:
    text = "train_opt2 = None\nnumber = train_opt2"
    kept, renamed = (
        rewritten(text, REWRITES[name]) for name in ("variables renamed", "variables and role words renamed")
    )
    assert kept is not None
    assert renamed is not None
    assert kept.files[MAIN] == "opt_1 = None\nv_2 = opt_1"
    assert renamed.files[MAIN] == "v_1 = None\nv_2 = v_1"


@pytest.mark.parametrize("name", ["into helpers", "into methods", "into another file"])
def test_a_line_is_followed_into_the_function_and_to_its_call(name: str) -> None:
    done = rewritten(PROGRAM, REWRITES[name])
    assert done is not None
    texts = {done.files[file].splitlines()[line - 1].strip() for file, line in done.places[STEP]}
    assert texts == {f"{'hands.' * (name == 'into methods')}do_it(optimizer)", "return thing.step()"}


@pytest.mark.parametrize("name", REWRITES)
def test_a_line_is_followed_to_what_stands_for_it_and_no_further(name: str) -> None:
    done = rewritten(PROGRAM, REWRITES[name])
    for line in (1, 2, STEP) if done else ():
        assert 1 <= len(done.places[line]) <= 3, name


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("parameters renamed", "def f(a):\n    return a\noptions = {'a': 1}\nf(**options)"),
        ("variables renamed", "x = 1\nprint(locals())"),
        (
            "attributes renamed",
            "class A:\n    def __init__(self):\n        self.x = 1\n\ndef f(other):\n    return other.x",
        ),
        ("attributes renamed", "import pl\nclass A(pl.Module):\n    def __init__(self):\n        self.x = 1"),
        ("while for for", "for x in y:\n    pass\nelse:\n    print(x)"),
        ("other arm first", "if a:\n    b()\nelif c:\n    d()"),
        ("keyword arguments", "from torch import ones\nones(2)"),
    ],
)
def test_refused_where_the_meaning_might_change(name: str, text: str) -> None:
    assert rewritten(text, REWRITES[name]) is None


@pytest.mark.parametrize("name", REWRITES)
def test_what_is_made_is_python(name: str) -> None:
    for case in filter(parses, cases()[::240]):
        done = rewritten(case.text, REWRITES[name])
        for text in done.files.values() if done else ():
            ast.parse(text)
