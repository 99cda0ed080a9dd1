"""docs/lab is what the last run says: its pages are written again from its own results and are the same."""

import json
from pathlib import Path

import pytest

from zerograd.lab.experiment import Result, read_results
from zerograd.lab.markdown import claim_page, index

DOCS = Path(__file__).parents[2] / "docs" / "lab"
RESULTS = read_results(DOCS / "lab.json")


def test_the_index_is_of_this_run() -> None:
    about = json.loads((DOCS / "lab.json").read_text())
    assert (DOCS / "README.md").read_text() == index(RESULTS, f"{about['date']}, {about['machine']}")
    assert len(RESULTS) == 22


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: result.claim.id)
def test_a_page_is_of_this_run(result: Result) -> None:
    assert (DOCS / f"{result.claim.id}.md").read_text() == claim_page(result)
    assert (DOCS / "figures" / f"{result.claim.id}.svg").read_text().startswith("<svg")


def test_the_verdicts_are_those_of_the_measurements() -> None:
    about = json.loads((DOCS / "lab.json").read_text())
    told = {claim["id"]: (claim["verdict"], claim["condition"]) for claim in about["claims"]}
    assert told == {result.claim.id: (result.verdict.ruling.value, result.verdict.condition) for result in RESULTS}
