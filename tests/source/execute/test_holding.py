"""Parameters that are held twice."""

from source.execute.reading import certain, found

BOTH = """
body, head = nn.Linear(4, 4), nn.Linear(4, 1)
whole = nn.Sequential(body, head)
one = torch.optim.SGD(body.parameters(), lr=0.1)
two = torch.optim.SGD(whole.parameters(), lr=0.1)
for x, y in loader:
    one.zero_grad()
    two.zero_grad()
    F.mse_loss(whole(x), y).backward()
    one.step()
    two.step()
"""


def test_two_that_step_the_same_after_one_backward() -> None:
    assert certain(BOTH) == ["ZG004"]


def test_each_may_have_a_part() -> None:
    assert found(BOTH.replace("whole.parameters()", "head.parameters()")) == []


def test_who_picks_parameters_may_pick_others() -> None:
    picked = "[p for p in whole.parameters() if p.ndim > 1]"
    assert found(BOTH.replace("whole.parameters()", picked)) == []
    assert found(BOTH.replace("whole.parameters()", "filter(lambda p: p.ndim > 1, whole.parameters())")) == []
    assert found(BOTH.replace("whole.parameters()", "list(whole.parameters())[2:]")) == []


def test_a_backward_between_the_steps_is_another_one() -> None:
    again = "    one.step()\n    whole.zero_grad()\n    F.mse_loss(whole(x), y).backward()\n"
    assert found(BOTH.replace("    one.step()\n", again)) == []


def test_one_of_two_is_stepped() -> None:
    body = BOTH.replace("    one.step()\n    two.step()\n", "    (one if fast else two).step()\n")
    assert certain(body) == []


def test_a_list_that_names_them_twice() -> None:
    for listed in ("[*body.parameters(), *body.parameters()]", "list(body.parameters()) + list(whole.parameters())"):
        body = BOTH.replace("body.parameters()", listed).replace("    two.step()\n", "")
        assert certain(body) == ["ZG004"]
        assert certain(body.replace(listed, f"set({listed})")) == []
