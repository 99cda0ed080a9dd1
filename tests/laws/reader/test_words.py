"""Law 4: where a word decides, and that none does in the packages that must have none; and what is put aside unread."""

from pathlib import Path

import pytest

from laws.reader.corpus import Case, cases
from laws.reader.trigger import put_aside
from laws.reader.words import SOURCE, Use, by_package, forbidden, is_word, uses


def found(tmp_path: Path, text: str, file: str = "heap/one.py") -> list[Use]:
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(text)
    return uses(tmp_path)


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("ok = node.attr == 'step'", "compared"),
        ("ok = 'loss' in name.lower()", "compared"),
        ("ok = name in ('opt', 'optim')", "compared"),
        ("ROLES = frozenset({'opt', 'optim'})\nok = name in ROLES", "compared"),
        ("ROLES = {'opt': 1}\nok = ROLES[name]", "looked up"),
        ("ROLES = {'opt': 1}\nok = ROLES.get(name)", "looked up"),
        ("ROLES = {'opt', 'optim'}\nok = names & ROLES", "looked up"),
        ("WORDS = frozenset('opt optim'.split())\nok = name in WORDS", "compared"),
        ("ok = name.startswith('opt')", "searched"),
        ("import re\nok = re.compile(r'opt|optim')", "matched"),
        ("match name:\n    case 'step':\n        pass", "compared"),
    ],
)
def test_a_word_decides(tmp_path: Path, text: str, how: str) -> None:
    assert [use.how for use in found(tmp_path, text)] == [how]
    assert forbidden(found(tmp_path, text))


@pytest.mark.parametrize(
    "text",
    [
        "ok = name == '__init__'",
        "ok = name in ('super', 'print')",
        "ok = path.endswith('.py')",
        "ok = kind is Kind.STEP",
        "class Kind(Enum):\n    STEP = 'step'\nok = kind in (Kind.STEP, Kind.CLEAR)",
        "ok = table['held']",
        "ok = one.name == other.name",
        "ok = tag == 'atom'  # not a name: a tag of ours",
        "text = f'{name}.step()'",
    ],
)
def test_no_word_decides(tmp_path: Path, text: str) -> None:
    assert found(tmp_path, text) == []


def test_a_name_of_the_file_is_not_the_table_of_another(tmp_path: Path) -> None:
    found(tmp_path, "ROLES = {'opt', 'optim'}", "effects/roles.py")
    assert found(tmp_path, "ROLES = make()\nok = one == ROLES") == []
    assert found(tmp_path, "from roles import ROLES\nok = one in ROLES") != []


@pytest.mark.parametrize("file", ["effects/torch.py", "project/hints.py"])
def test_who_may_know_words(tmp_path: Path, file: str) -> None:
    assert found(tmp_path, "ok = name == 'step'", file) == []


def test_words() -> None:
    assert [one for one in ("step", "torch.optim", "__call__", "len", "", ".", "a b", "x.py", "_") if is_word(one)] == [
        "step",
        "torch.optim",
    ]


def test_packages_without_words_have_none() -> None:
    """Over the whole tree, because a table may be kept in one file and asked in another."""
    found = uses(SOURCE)
    assert forbidden(found) == [], by_package(found)


def test_faulty_programs_are_read_renamed_or_not() -> None:
    aside = [(case, rewrite) for case, rewrite in put_aside(cases()[::60]) if not rewrite or "renamed" in rewrite]
    assert aside == []


def test_a_trigger_that_goes_by_names_is_told() -> None:
    case = Case("faulty", "optimizer = make()\noptimizer.step()", frozenset({(2, "ZG003")}))
    told = set(put_aside([case], lambda text: "optimizer" in text))
    assert ("faulty", "variables and role words renamed") in told
    assert ("faulty", "") not in told
