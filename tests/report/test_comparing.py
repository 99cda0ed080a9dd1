"""Findings are matched though their lines moved; numbers part at a step."""

from zerograd.report.comparing import _findings, _parting


def finding(code: str, line: int, times: int = 1, path: str = "train.py") -> dict[str, object]:
    told = {"code": code, "path": path, "line": line, "cell": 0, "message": "m", "fails": True}
    return {**told, "times": [times]}


def test_lines_that_moved_are_the_same_finding() -> None:
    before = {"findings": [finding("ZG001", 7), finding("ZG001", 9), finding("ZG002", 3)]}
    after = {"findings": [finding("ZG001", 9, 4), finding("ZG001", 8), finding("ZG003", 3)]}
    kept = [(one.change, one.code, one.place, one.before, one.after) for one in _findings(before, after)]
    assert kept == [
        ("both", "ZG001", "train.py:9", 1, 4),
        ("both", "ZG001", "train.py:7, now train.py:8", 1, 1),
        ("gone", "ZG002", "train.py:3", 1, 0),
        ("new", "ZG003", "train.py:3", 0, 1),
    ]


def test_numbers_part_at_a_step_or_near_one() -> None:
    part = _parting("loss", {"x": [1, 2, 3], "y": [1, 2, 3]}, {"x": [1, 2], "y": [1, 5]})
    assert part is not None
    assert (part.step, part.there, part.end, part.steps) == (2, (2, 5), (3, 5), 2)
    wide = {"x": [1, 3], "y": [1, 2], "width": 2}
    near = _parting("loss", wide, wide | {"y": [1, 4]})
    assert near is not None
    assert (near.step, near.width, near.steps) == (3, 2, 4)
    unlike = _parting("loss", wide, {"x": [1], "y": [7]})
    assert unlike is not None
    assert (unlike.steps, unlike.there, unlike.end) == (0, None, (2, 7))
    assert _parting("loss", {"x": [], "y": []}, wide) is None
