"""Counters are values: where one stands in a window is known, wherever it is kept."""

import pytest

from source.execute.reading import certain, found

WINDOW = """
for i, (x, y) in enumerate(loader):
    (F.mse_loss(model(x), y) / 2).backward()
    if (i + 1) % 2 == 0:
        optimizer.step()
        optimizer.zero_grad()
"""


def test_accumulation_is_silent() -> None:
    assert found(WINDOW) == []


def test_a_clear_in_every_micro_batch() -> None:
    assert certain(WINDOW.replace("    (F", "    optimizer.zero_grad()\n    (F")) == ["ZG002"]


@pytest.mark.parametrize(
    "counting",
    [
        "self.n += 1\n            if self.n % 4 == 0:",
        "self.n += 1\n            if self.n >= 4:\n                self.n = 0",
        "self.n += 1\n            ends = self.n % 4 == 0\n            if ends:",
    ],
)
def test_a_counter_in_a_field(counting: str) -> None:
    body = f"""
class Trainer:
    def __init__(self):
        self.n = 0

    def train(self):
        for x, y in loader:
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            {counting}
                optimizer.step()


Trainer().train()
"""
    assert certain(body) == ["ZG002"]


def test_a_while_loop_and_a_break() -> None:
    body = """
batches = iter(loader)
while True:
    x, y = next(batches)
    F.mse_loss(model(x), y).backward()
    optimizer.step()
    if x is None:
        break
"""
    assert certain(body) == ["ZG001"]


def test_a_step_behind_the_loop_takes_what_is_left() -> None:
    assert certain(WINDOW + "optimizer.step()\n") == []


TAKEN = """
def train(model, batches, optimizer):
    taken = iter(enumerate(batches))
    while True:
        try:
            i, x = next(taken)
        except StopIteration:
            break
        (model(x).mean() / 4).backward()
        if (i + 1) % 4 == 0:
            optimizer.step()
            {clear}
"""


def test_a_while_loop_that_takes_the_next_element_is_a_for_loop() -> None:
    assert certain(TAKEN.format(clear="pass")) == ["ZG102", "ZG001"]
    assert found(TAKEN.format(clear="optimizer.zero_grad()")) == [("ZG102", "certain")]


LISTED = """
def train(model, batches, optimizer):
    for x in batches:
        for each in [optimizer]:
            each.zero_grad()
        for loss in [model(x).mean()]:
            loss.backward()
        for each in [optimizer]:
            each.step()
"""


def test_a_loop_over_one_thing_is_no_loop() -> None:
    assert found(LISTED) == []


def test_one_of_two_optimizers_in_a_list_is_still_a_choice() -> None:
    text = """
def train(model, head, batches, kind):
    if kind == "all":
        optimizer = torch.optim.Adam([*model.parameters(), *head.parameters()])
    else:
        optimizer = torch.optim.SGD(model.parameters())
    for x in batches:
        model.zero_grad()
        head(model(x)).mean().backward()
        for each in [optimizer]:
            each.step()
"""
    assert certain(text) == []


def test_a_loop_that_tries_again_accumulates_nothing() -> None:
    text = """\
for x, y in loader:
    while True:
        try:
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            break
        except torch.cuda.OutOfMemoryError:
            x, y = x[::2], y[::2]
    optimizer.step()
"""
    assert certain(text) == []


def test_each_parameter_of_a_loop_is_another_one() -> None:
    body = """
for x, y in loader:
    F.mse_loss(model(x), y).backward()
    for p in model.parameters():
        torch.nn.utils.clip_grad_norm_(p, 1.0)
    optimizer.step()
    for group in optimizer.param_groups:
        for p in group["params"]:
            p.grad.zero_()
"""
    assert certain(body) == []


def test_each_of_the_optimizers_that_were_given_steps_once() -> None:
    body = """
def train(net, loader, optimizers):
    for x in loader:
        for one in optimizers:
            one.zero_grad()
        net(x).mean().backward()
        for one in optimizers:
            one.step()
"""
    assert certain(body) == []


def test_a_list_that_a_loop_may_fill_is_not_empty_behind_it() -> None:
    body = """
made = []
for x, y in loader:
    optimizer.zero_grad()
    outs = []
    for part in x:
        outs.append(model(part))
    loss = 0
    for one, other in zip(outs, outs):
        loss += F.mse_loss(one, other.detach())
    loss.backward()
    optimizer.step()
"""
    assert certain(body) == []


def test_what_a_counter_takes_out_of_a_list_is_another_one_in_each_iteration() -> None:
    body = """
def train(n):
    nets, opts = [], []
    for i in range(n):
        net = nn.Linear(4, 1)
        nets.append(net)
        opts.append(torch.optim.Adam(net.parameters()))
    for x, y in loader:
        for i in range(n):
            opts[i].zero_grad()
        sum(F.mse_loss(net(x), y) for net in nets).backward()
        for i in range(n):
            opts[{}].step()
"""
    assert certain(body.format("i")) == []
    assert certain(body.format("0")) == ["ZG004"]


def test_a_counter_that_was_given_counts_from_what_it_was() -> None:
    body = """
def train(state, n):
    for x, y in loader:
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        if (state.seen + 1) % {of} == 0:
            optimizer.step()
        {count}
"""
    assert "ZG002" in certain(body.format(of="n", count="state.seen += 1"))
    assert "ZG002" not in certain(body.format(of="n", count="pass"))


def test_micro_batches_may_ask_which_of_them_is_the_last() -> None:
    body = """
def train(n, get):
    optimizer.zero_grad()
    for micro in range(n):
        last = micro == {which}
        x, y = get()
        F.mse_loss(model(x), y).backward()
    optimizer.step()
"""
    assert certain(body.format(which="n - 1")) == ["ZG101"]
    assert certain(body.format(which="2")) == []
