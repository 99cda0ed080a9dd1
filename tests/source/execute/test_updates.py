"""Updates by hand: a gradient that is used for one is consumed, and must be cleared as for a step."""

from source.execute.reading import certain, found

BY_HAND = """
w = torch.zeros(4, requires_grad=True)
for x, y in loader:
    F.mse_loss(x @ w, y).backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
"""


def test_what_is_never_cleared_is_stale() -> None:
    assert certain(BY_HAND) == ["ZG001"]


def test_each_word_for_a_clear_clears() -> None:
    for clear in ("w.grad.zero_()", "w.grad = None", "w.grad[:] = 0", "w.grad *= 0", "w.grad.data.fill_(0)"):
        assert found(BY_HAND + f"    {clear}\n") == []


def test_each_word_for_an_update_updates() -> None:
    for update in (
        "w.data.sub_(0.1 * w.grad)",
        "w.data = w - 0.1 * w.grad.sign()",
        "w.copy_(w.detach() - w.grad)",
        "w[y] = w - w.grad",
    ):
        assert certain(BY_HAND.replace("w -= 0.1 * w.grad", update)) == ["ZG001"]


def test_a_new_tensor_has_no_gradient() -> None:
    body = """
for x, y in loader:
    w = torch.zeros(4)
    w.requires_grad = True
    F.mse_loss(x @ w, y).backward()
    w.data -= 0.1 * w.grad
"""
    assert found(body) == []


def test_a_gradient_that_fades_on_purpose_is_possible_at_most() -> None:
    assert certain(BY_HAND + "        w.grad *= 0.9\n") == []


def test_a_list_of_tensors_is_updated_one_by_one() -> None:
    body = """
def update(tensors):
    for one in tensors:
        one.data -= 0.1 * one.grad
w, b = torch.zeros(4, requires_grad=True), torch.zeros(1, requires_grad=True)
for x, y in loader:
    F.mse_loss(x @ w + b, y).backward()
    update([w, b])
"""
    assert certain(body) == ["ZG001"]
    assert found(body + "    w.grad = b.grad = None\n") == []


def test_what_a_step_consumes_too_is_consumed_twice() -> None:
    body = """
for x, y in loader:
    optimizer.zero_grad()
    F.mse_loss(model(x), y).backward()
    for p in model.parameters():
        p.data.add_(p.grad, alpha=-0.1)
    optimizer.step()
"""
    assert certain(body) == ["ZG004"]
    back = body.replace("    optimizer.step()", "    model.load_state_dict(saved)\n    optimizer.step()")
    assert certain(back) == []


def test_a_perturbation_that_is_taken_back_consumes_nothing() -> None:
    body = """
for x, y in loader:
    optimizer.zero_grad()
    F.mse_loss(model(x), y).backward()
    moved = []
    for p in model.parameters():
        moved.append(0.1 * p.grad)
        p.data.add_(moved[-1])
    optimizer.zero_grad()
    F.mse_loss(model(x), y).backward()
    for p, by in zip(model.parameters(), moved):
        p.data.sub_(by)
    optimizer.step()
"""
    assert found(body) == []


def test_an_adversarial_gradient_may_be_added_on_purpose() -> None:
    body = """
for x, y in loader:
    optimizer.zero_grad()
    F.mse_loss(model(x), y).backward()
    before = [p.data.clone() for p in model.parameters()]
    for p in model.parameters():
        p.data.add_(p.grad)
    F.mse_loss(model(x), y).backward()
    for p, was in zip(model.parameters(), before):
        p.data = was
    optimizer.step()
"""
    assert certain(body) == []
