"""A closure that goes backward must clear first."""

from source.execute.reading import certain


def test_a_closure_that_never_clears() -> None:
    body = """
lbfgs = torch.optim.LBFGS(model.parameters())


def closure():
    {clear}
    loss = F.mse_loss(model(loader[0][0]), loader[0][1])
    loss.backward()
    return loss


for _ in range(10):
    lbfgs.step(closure)
"""
    assert certain(body.format(clear="pass")) == ["ZG009"]
    assert certain(body.format(clear="lbfgs.zero_grad()")) == []
