"""A term of a loss that was cut from its graph is found, and one that is meant is not."""

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


COPIED = """
for x, y in loader:
    out = model(x)
    optimizer.zero_grad()
    F.mse_loss(out, y).backward(retain_graph=True)
    bonus = torch.tensor(out.mean(), requires_grad=True)
    bonus.backward()
    {used}
    optimizer.step()
"""


def test_a_loss_that_is_a_copy_teaches_nothing() -> None:
    assert certain(COPIED.format(used="pass")) == ["ZG003"]


def test_a_copy_whose_gradient_is_handed_on_teaches() -> None:
    assert certain(COPIED.format(used="out.mean().backward(bonus.grad)")) == []


def test_a_penalty_of_gradients_needs_their_graph() -> None:
    body = """
for x, y in loader:
    x.requires_grad = True
    model(x).mean().backward({told})
    penalty = x.grad.square().sum()
    optimizer.zero_grad()
    (F.mse_loss(model(x), y) + penalty).backward()
    optimizer.step()
"""
    assert certain(body.format(told="")) == ["ZG003"]
    assert certain(body.format(told="create_graph=True")) == []


def test_a_term_that_a_hook_has_cut() -> None:
    body = """
seen = {{}}


def keep(module, given, output):
    seen["out"] = output{cut}


model.register_forward_hook(keep)
for x, y in loader:
    out = model(x)
    loss = F.mse_loss(out, y) + 0.1 * seen["out"].var()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
    assert certain(body.format(cut=".detach()")) == ["ZG003"]
    assert certain(body.format(cut="")) == []
