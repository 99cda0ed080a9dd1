"""What goes in comes out, as JSON."""

import json
import math
from collections import Counter, OrderedDict

import numpy
import pytest
import torch

from zerograd import CheckpointError
from zerograd.engine.checkpoint.values import decode, encode, paths

VALUES = [
    None, True, 3, 0.1, math.inf, "text", b"\0\xff", (1, (2, "x")), [1, [2]], {1, 2}, {"a": {"b": 1}},
    {1: "a", (2,): "b"},
    Counter({3: 2}), OrderedDict(a=1), {"$": "tensor"}, torch.float16, 2**70,
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_there_and_back(value: object) -> None:
    back = decode(json.loads(json.dumps(encode(value, "v", {}))), {})
    assert back == value
    assert type(back) is type(value) or isinstance(value, OrderedDict)


def test_tensors_go_by_name() -> None:
    found: dict[str, torch.Tensor] = {}
    coded = encode({"a": [torch.ones(2)], "b": numpy.arange(3), "c": numpy.float64(2.5)}, "v", found)
    assert sorted(found) == ["v/a/0", "v/b"] == sorted(paths(coded))
    back = decode(coded, found)
    assert torch.equal(back["a"][0], torch.ones(2))
    assert back["b"].tolist() == [0, 1, 2]
    assert back["c"] == 2.5


def test_nothing_else() -> None:
    with pytest.raises(CheckpointError, match="v/f is a function"):
        encode({"f": encode}, "v", {})
