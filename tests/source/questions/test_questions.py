"""What one state and one event cannot show."""

from source.execute.reading import certain


def test_a_term_without_its_graph_teaches_nothing() -> None:
    body = """
for x, y in loader:
    out = model(x)
    penalty = out.pow(2).mean().item()
    loss = F.mse_loss(out, y) + 0.1 * penalty
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
    assert certain(body) == ["ZG003"]
    assert certain(body.replace(".item()", "")) == []


def test_a_value_of_one_and_the_gradient_of_the_other_is_meant() -> None:
    body = """
for x, y in loader:
    soft = F.mse_loss(model(x), y)
    hard = F.l1_loss(model(x), y)
    optimizer.zero_grad()
    (soft + (hard - soft).detach()).backward()
    optimizer.step()
"""
    assert certain(body) == []


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
