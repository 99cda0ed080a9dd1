"""Whatever stands in a file that calls itself a trace, it is read or refused in one sentence."""

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zerograd.errors import UsageError
from zerograd.report.data import data
from zerograd.report.story import Story
from zerograd.report.walk import processes
from zerograd.trace.reading import opened

HEADER = '{"schema":1,"tool":"zerograd","findings":true}\n'
SITES = st.lists(st.integers(-1, 10**6) | st.text(max_size=5) | st.none(), max_size=7)
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=8), SITES,
    st.dictionaries(st.text(max_size=3) | st.sampled_from(["norm", "loss", "took"]), st.floats() | st.text(max_size=3)),
)  # fmt: skip
EVENT = ["kind", "slot", "site", "scaled", "what", "at", "hit", "numbers"]
OTHER = ["optimizer", "groups", "set", "slots", "finding", "event", "of"]
FINDING = ["code", "name", "message", "certainty", "severity", "related", "cure"]
KEYS = st.sampled_from([*EVENT, *OTHER, *FINDING])
KNOWN = st.sampled_from(
    [
        {"kind": "deposit", "slot": "a", "site": ["t.py", 3], "at": 1, "numbers": {"loss": 1.0}},
        {"kind": "consume", "slot": "a", "site": ["t.py", 4], "at": 5},
        {"kind": "clear", "slot": "a", "hit": 0},
        {"optimizer": "a", "groups": [["w", "b"], ["c"]]},
        {"set": 0, "slots": [0, 2]},
        {"finding": 0, "event": 1, "code": "ZG001", "name": "n", "message": "m", "site": ["t.py", 4],
         "certainty": "certain", "severity": "error", "related": [[["t.py", 3], "r"]], "cure": "c"},
        {"of": 0, "numbers": {"norm": 2.0}},
    ]
)  # fmt: skip
LINES = st.lists(st.tuples(KNOWN, st.dictionaries(KEYS, VALUES, max_size=2)), max_size=12)


@given(LINES)
def test_any_lines_are_shown_or_refused(
    tmp_path_factory: pytest.TempPathFactory, lines: list[tuple[dict, dict]]
) -> None:  # type: ignore[type-arg]
    path = tmp_path_factory.mktemp("trace") / "run.jsonl"
    path.write_text(HEADER + "".join(json.dumps({**known, **odd}) + "\n" for known, odd in lines))
    with contextlib.suppress(UsageError):  # one sentence, and no traceback
        json.dumps(data(Story(processes([path]))), allow_nan=False)


def test_a_copy_with_other_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes((HEADER + '{"kind":"clear","slot":"a"}\n').replace("\n", "\r\n").encode())
    assert len(list(opened(path).events())) == 1


def test_a_file_that_is_not_there_names_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_text(HEADER)
    with pytest.raises(UsageError, match=r"Did you mean 'run.jsonl'"):
        opened(tmp_path / "rum.jsonl")
