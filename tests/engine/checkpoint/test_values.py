"""What goes in comes out, as JSON."""

import enum
import json
import math
from collections import Counter, OrderedDict, deque

import numpy
import pytest
import torch

from zerograd import CheckpointError
from zerograd.engine.checkpoint.values import decode, encode, paths

VALUES = [
    None, True, 3, 0.1, math.inf, "text", b"\0\xff", (1, (2, "x")), [1, [2]], {1, 2}, {"a": {"b": 1}},
    {1: "a", (2,): "b"},
    Counter({3: 2}), OrderedDict(a=1), {"$": "tensor"}, torch.float16, 2**70,
    {1: "a", "1": "b", None: "c", 2.5: "d", (1, "x"): "e"}, {True: 1, "True": 2}, frozenset({1}), {frozenset({1}): 2},
    deque([1, 2], 3), 1 + 2j, torch.device("cpu"), torch.Size([2, 3]), bytearray(b"x"), {"a/b": 1, "a": {"b": 2}},
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_there_and_back(value: object) -> None:
    back = decode(json.loads(json.dumps(encode(value, "v", {}))), {})
    assert back == value
    assert type(back) is type(value)


def test_tensors_go_by_name() -> None:
    found: dict[str, torch.Tensor] = {}
    coded = encode({"a": [torch.ones(2)], "b": numpy.arange(3), "c": numpy.float64(2.5)}, "v", found)
    assert sorted(found) == ["v/a/0", "v/b"] == sorted(paths(coded))
    back = decode(coded, found)
    assert torch.equal(back["a"][0], torch.ones(2))
    assert isinstance(back["b"], numpy.ndarray)
    assert back["b"].tolist() == [0, 1, 2]
    assert back["c"] == 2.5


COLLIDING = [
    {"a": {"b": 1.0}, "a/b": 2.0, "a%2Fb": 3.0},
    {1: 1.0, "1": 2.0, "True": 3.0, None: 4.0, "None": 5.0},
    {"a": [1.0], "a/0": 2.0},
    {(1, 2): 1.0, "(1, 2)": 2.0, "0": 3.0, 0: 4.0},
    {"0.1": 1.0, 0.1: 2.0, "0": {"1": 3.0}, "0/1": 4.0},
    [{"0": 1.0}, {0: 2.0}, ({"0": 3.0},)],
]


def _each(value, change):
    """`value` with every number in it changed, keys apart."""
    if isinstance(value, dict):
        return {key: _each(part, change) for key, part in value.items()}
    return type(value)(_each(part, change) for part in value) if isinstance(value, list | tuple) else change(value)


@pytest.mark.parametrize("value", COLLIDING, ids=repr)
def test_no_two_tensors_have_one_name(value: object) -> None:
    found: dict[str, torch.Tensor] = {}
    coded = json.loads(json.dumps(encode(_each(value, torch.tensor), "v", found)))
    assert _each(decode(coded, found), torch.Tensor.item) == value


def test_numbers_and_texts_of_classes_of_their_own() -> None:
    """As the number or text they are: they are equal to it, and to name the class would be to run code."""
    mode = enum.IntEnum("Mode", {"TRAIN": 2})
    word = enum.Enum("Word", {"YES": "yes"}, type=str)
    back = decode(json.loads(json.dumps(encode([mode.TRAIN, word.YES, {mode.TRAIN: 1}], "v", {}))), {})
    assert back == [mode.TRAIN, word.YES, {mode.TRAIN: 1}]
    assert [type(one) for one in back[:2]] == [int, str]


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (encode, "a function"),
        (enum.Enum("Plain", "A").A, "a Plain"),
        (torch.ones(2, 2).to_sparse(), "a tensor that is sparse"),
        (torch.ones(2, device="meta"), "without data"),
        (numpy.array([object()]), "an array of object"),
        (numpy.array(["text"]), "an array of <U4"),
    ],
)
def test_nothing_else(value: object, what: str) -> None:
    with pytest.raises(CheckpointError, match=f"v/f is .*{what}"):
        encode({"f": value}, "v", {})
