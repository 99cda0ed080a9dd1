"""Numbers are told in the order in which they were sent, when they have come, each once."""

import pytest
import torch

from zerograd.run.posted import Post

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"))]


@pytest.mark.parametrize("device", DEVICES)
def test_all_of_them_in_order(device: str) -> None:
    post, told = Post(), list[list[float]]()
    for number in range(100):
        value = torch.full((), float(number), device=device)
        post.send([value, value.bfloat16()], told.append)
        post.collect()
        value.fill_(-1.0)  # it was sent as it was
    post.collect(all_of_them=True)
    post.collect(all_of_them=True)
    assert told == [[float(number), float(number)] for number in range(100)]


def test_without_an_event_the_next_letter_must_do() -> None:
    post, told = Post(), list[list[float]]()
    post.send([torch.ones(())], told.append)
    post.collect()
    assert told == []
    post.send([torch.zeros(())], told.append)
    post.collect()
    assert told == [[1.0]]
