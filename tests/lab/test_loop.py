from functools import partial

import torch

from zerograd.lab.loop import Loop, differing, distance, gradients, weights
from zerograd.lab.plain import CLEAR_AT_TOP, NEVER_CLEARED
from zerograd.lab.shapes import shapes_scene

SCENE = partial(shapes_scene, steps=4)


def test_one_text_is_run_read_and_watched() -> None:
    played = NEVER_CLEARED.play(SCENE(), audited=True)
    assert len(played.names["losses"]) == 4
    assert {finding.code for finding in played.findings} == {"ZG001"}
    assert {finding.site.path for finding in played.findings} == {"never_cleared.py"}
    assert [finding.code for finding in NEVER_CLEARED.checked()] == ["ZG001"]
    assert not CLEAR_AT_TOP.play(SCENE(), audited=True).findings
    assert not CLEAR_AT_TOP.checked()


def test_what_ends_a_loop_is_kept() -> None:
    played = Loop("broken", "import torch\nlosses.append(1.0)\nraise ValueError('no more')\n").play(SCENE())
    assert str(played.error) == "no more"
    assert played.names["losses"] == [1.0]


def test_vectors() -> None:
    model = torch.nn.Linear(2, 1)
    assert weights(model).numel() == gradients(model).numel() == 3
    assert differing(weights(model), weights(model)) == 0
    assert distance(2 * weights(model), weights(model)) == 1
