"""What goes backward."""

import ast

from zerograd.source.counting.losses import loss_of


def test_what_is_differentiated() -> None:
    for text, found in {
        "loss.backward()": "loss",
        "scaler.scale(loss).backward()": "loss",
        "accelerator.backward(loss)": "loss",
        "(a + b).backward()": "a + b",
    }.items():
        call = ast.parse(text, mode="eval").body
        assert isinstance(call, ast.Call)
        loss = loss_of(call)
        assert loss is not None
        assert ast.unparse(loss) == found
