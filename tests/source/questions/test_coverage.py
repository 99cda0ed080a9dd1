"""What is cleared must cover what is stepped."""

from source.execute.reading import certain

BODY = """
head = nn.Linear(1, 1)
other = torch.optim.SGD(head.parameters(), lr=0.1)
for x, y in loader:
    {clear}
    F.mse_loss(head(model(x)), y).backward()
    optimizer.step()
    other.step()
"""


def test_an_optimizer_beside_the_one_that_is_cleared() -> None:
    assert certain(BODY.format(clear="optimizer.zero_grad()")) == ["ZG006"]


def test_the_networks_may_be_cleared_in_the_optimizers_place() -> None:
    assert certain(BODY.format(clear="model.zero_grad(); head.zero_grad()")) == []
