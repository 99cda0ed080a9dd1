"""A backward that is erased every time, before anybody looked, is found."""

from source.execute.reading import certain


def test_a_backward_that_is_erased_every_time() -> None:
    body = """
for x, y in loader:
    F.mse_loss(model(x), y).backward()
    optimizer.zero_grad()
    F.l1_loss(model(x), y).backward()
    optimizer.step()
    optimizer.zero_grad()
"""
    assert certain(body) == ["ZG002"]
    looked_at = body.replace(
        "    optimizer.zero_grad()\n    F", "    print(model.weight.grad)\n    optimizer.zero_grad()\n    F"
    )
    assert certain(looked_at) == []
