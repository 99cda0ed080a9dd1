from pathlib import Path

import pytest

from zerograd.lab.placement import Place, count_files, places

LINES = {
    "clear": "    opt.zero_grad()\n",
    "forward": "    loss = f(model(x))\n",
    "backward": "    loss.backward()\n",
    "step": "    opt.step()\n",
}


def _text(*order: str) -> str:
    return "import torch\nfor x in data:\n" + "".join(LINES[word] for word in order)


@pytest.mark.parametrize(
    ("order", "place"),
    [
        (("clear", "forward", "backward", "step"), Place.TOP),
        (("forward", "clear", "backward", "step"), Place.BEFORE),
        (("forward", "backward", "step", "clear"), Place.AFTER),
        (("forward", "backward", "clear", "step"), Place.ELSEWHERE),
    ],
)
def test_where_a_loop_clears(order: tuple[str, ...], place: Place) -> None:
    assert list(places(_text(*order))) == [place]


def test_what_never_clears_is_not_counted() -> None:
    assert list(places(_text("forward", "backward", "step"))) == []


def test_files_below_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(_text("clear", "forward", "backward", "step"))
    (tmp_path / "broken.py").write_text("import torch\noptimizer.step(loss.backward(\n")
    assert count_files(str(tmp_path)) == {Place.TOP: 1}
