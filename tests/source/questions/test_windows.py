"""How a step is fed: what it waits for, where its groups begin, and whether its losses know how many they are."""

import pytest

from source.execute.reading import MADE
from zerograd.core.world import Fit, Window
from zerograd.source.check import laws
from zerograd.source.execute.roots import execute_all
from zerograd.source.project.files import Project
from zerograd.source.questions.world import SourceWorld

LOOP = """
def train(loader, n, start=0):
    for i, (x, y) in enumerate(loader{numbers}):
        {backward}.backward()
        if {test}:
            optimizer.step()
            optimizer.zero_grad()
"""


def windows(text: str) -> list[Window]:
    project = Project()
    roots = execute_all(project, project.open("program.py", MADE + text), laws())
    return [window for root in roots for window in SourceWorld(root.execution).every(Window)]


def only(test: str, *, backward: str = "F.mse_loss(model(x), y)", numbers: str = "") -> Window:
    (window,) = windows(LOOP.format(test=test, backward=backward, numbers=numbers))
    return window


@pytest.mark.parametrize(
    ("test", "numbers", "fit"),
    [
        ("(i + 1) % n == 0", "", Fit.WHOLE),
        ("i % n == n - 1", "", Fit.WHOLE),
        ("i % n == 0", ", 1", Fit.WHOLE),
        ("i % 3 == 0", ", start=1", Fit.WHOLE),
        ("(i + 1) % n == 0 or i == len(loader) - 1", "", Fit.WHOLE),
        ("i % n == 0", "", Fit.SHIFTED),
        ("not i % n", "", Fit.SHIFTED),
        ("i % n == 0 and i > 0", "", Fit.SHIFTED),
        ("(i + 1) % n == 0", ", 1", Fit.SHIFTED),
        ("(i + 2) % n == 0", "", Fit.SHIFTED),
        ("i % n == 0", ", start", Fit.SHIFTED),
    ],
)
def test_where_groups_begin(test: str, numbers: str, fit: Fit) -> None:
    assert only(test, numbers=numbers).fit is fit


@pytest.mark.parametrize("backward", ["F.mse_loss(model(x), y)", "(F.mse_loss(model(x), y) / n)"])
def test_a_guard_the_wrong_way_round(backward: str) -> None:
    assert only("(i + 1) % n", backward=backward).fit is Fit.INVERTED


@pytest.mark.parametrize(
    ("backward", "is_mean", "is_divided"),
    [
        ("F.mse_loss(model(x), y)", True, False),
        ("(F.mse_loss(model(x), y) / n)", True, True),
        ("(F.mse_loss(model(x), y) * (1 / n))", True, True),
        ("F.mse_loss(model(x), y).div(n)", True, True),
        ("(F.mse_loss(model(x), y) / n + F.l1_loss(model(x), y) / n)", True, True),
        ("(F.mse_loss(model(x), y) + F.l1_loss(model(x), y) / n)", True, False),
        ("(F.mse_loss(model(x), y) / start)", True, None),
        ('F.mse_loss(model(x), y, reduction="sum")', False, False),
        ('(F.mse_loss(model(x), y, reduction="sum") / len(x))', True, False),
        ('(F.mse_loss(model(x), y, reduction="sum") / start)', False, None),
    ],
)
def test_what_a_loss_was_divided_by(backward: str, is_mean: bool, is_divided: bool | None) -> None:
    (loss,) = only("(i + 1) % n == 0", backward=backward).losses
    assert (loss.is_mean, loss.is_divided) == (is_mean, is_divided)


def test_a_tail_is_dropped_unless_somebody_steps_on_it() -> None:
    assert only("(i + 1) % n == 0").drops_tail
    assert not only("(i + 1) % n == 0 or i + 1 == len(loader)").drops_tail
    flushed = LOOP.format(test="(i + 1) % n == 0", backward="model(x).mean()", numbers="") + "    optimizer.step()\n"
    assert not any(window.drops_tail for window in windows(flushed))


def test_a_counter_that_some_micro_batches_are_not_counted_by_tells_nothing_for_certain() -> None:
    text = """
def train(n, fast):
    count = 0
    for x, y in loader:
        F.mse_loss(model(x), y).backward()
        if fast:
            count += 1
        if count % n == n - 1:
            optimizer.step()
            optimizer.zero_grad()
"""
    assert not any(window.certain for window in windows(text) if window.size)


def test_a_loss_for_two_who_step_at_different_paces_has_no_window() -> None:
    text = """
slow = torch.optim.SGD(model.parameters(), lr=0.1)
for i, (x, y) in enumerate(loader):
    F.mse_loss(model(x), y).backward()
    optimizer.step()
    if i % 3 == 0:
        slow.step()
        model.zero_grad()
"""
    assert not any(window.certain for window in windows(text) if window.size)


COUNTED = """
def train(loader, n, resumed):
    {before}
    for {names} in {data}:
        (F.mse_loss(model(x), y) / n).backward()
        {count}
        if {test}:
            optimizer.step()
            optimizer.zero_grad()
        {behind}
"""


@pytest.mark.parametrize(
    ("before", "count", "test", "behind", "fit"),
    [
        ("k = 0", "k = (k + 1) % n", "k == 0", "pass", Fit.WHOLE),
        ("k = 0", "pass", "k == 0", "k = (k + 1) % n", Fit.SHIFTED),
        ("k = 0", "k += 1; k %= n", "not k", "pass", Fit.WHOLE),
        ("k = 0 if resumed is None else resumed.k", "pass", "k % n == 0", "k += 1", Fit.SHIFTED),
        ("k = 0 if resumed is None else resumed.k", "k += 1", "k % n == 0", "pass", Fit.WHOLE),
    ],
)
def test_counters_of_the_programs_own(before: str, count: str, test: str, behind: str, fit: Fit) -> None:
    text = COUNTED.format(before=before, count=count, test=test, behind=behind, names="x, y", data="loader")
    (window,) = windows(text)
    assert (window.fit, window.certain) == (fit, True)


@pytest.mark.parametrize(("start", "fit"), [("", Fit.SHIFTED), ("1", Fit.WHOLE)])
def test_numbers_beside_the_batches_count_the_loop(start: str, fit: Fit) -> None:
    zipped = COUNTED.format(
        before="from itertools import count",
        names="(x, y), i",
        data=f"zip(loader, count({start}))",
        count="pass",
        test="i % n == 0",
        behind="pass",
    )
    (window,) = windows(zipped)
    assert (window.fit, window.certain) == (fit, True)


def test_a_setting_that_is_asked_in_lower_case_is_one_setting() -> None:
    both_ways = """
def train(loader, n, settings):
    k = 0
    for x, y in loader:
        if settings.loss.lower() == "l1":
            (F.l1_loss(model(x), y) / n).backward()
            k += 1
            if (k + 1) % n == 0:
                optimizer.step()
                optimizer.zero_grad()
        elif settings.loss.lower() == "l2":
            (F.mse_loss(model(x), y) / n).backward()
            k += 1
            if (k + 1) % n == 0:
                optimizer.step()
                optimizer.zero_grad()
"""
    assert {(window.fit, window.certain) for window in windows(both_ways)} == {(Fit.SHIFTED, True)}


EPOCHS = """
def train(loader, n, start_epoch=0):
    for epoch in range({epochs}):
        for i, (x, y) in enumerate(loader):
            done = {number}
            (F.mse_loss(model(x), y) / n).backward()
            if done % n == 0:
                optimizer.step()
                optimizer.zero_grad()
            {behind}
"""


@pytest.mark.parametrize(
    ("epochs", "number", "behind", "fit"),
    [
        ("3", "len(loader) * epoch + i", "pass", Fit.SHIFTED),
        ("3", "len(loader) * epoch + i + 1", "pass", Fit.WHOLE),
        ("3", "i + 1 + epoch * len(loader)", "pass", Fit.WHOLE),
        ("1, 4", "(epoch - 1) * len(loader) + i", "pass", Fit.SHIFTED),
        ("1, 4", "(epoch - 1) * len(loader) + i + 1", "pass", Fit.WHOLE),
        ("start_epoch, 4", "epoch * len(loader) + i", "pass", Fit.SHIFTED),
    ],
)
def test_counters_that_go_on_over_the_epochs(epochs: str, number: str, behind: str, fit: Fit) -> None:
    (window,) = windows(EPOCHS.format(epochs=epochs, number=number, behind=behind))
    assert (window.fit, window.certain) == (fit, True)


@pytest.mark.parametrize(
    ("epochs", "behind"), [("1, 4", "pass"), ("loader.begin, 4", "pass"), ("3", "if loader.stops(): break")]
)
def test_nobody_knows_where_some_epochs_begin(epochs: str, behind: str) -> None:
    found = windows(EPOCHS.format(epochs=epochs, number="epoch * len(loader) + i + 1", behind=behind))
    assert not any(window.fit is Fit.SHIFTED for window in found)


METHOD = """
class Trainer:
    def __init__(self, every):
        self.every, self.n = every, 0

    def learn(self, x, y):
        (F.mse_loss(model(x), y) / self.every).backward()
        {before}
        if {test}:
            optimizer.step()
            optimizer.zero_grad()
        {behind}
"""


@pytest.mark.parametrize(
    ("before", "test", "behind", "fit"),
    [
        ("self.n += 1", "self.n % self.every == 0", "pass", Fit.WHOLE),
        ("pass", "self.n % self.every == 0", "self.n += 1", Fit.SHIFTED),
        ("pass", "(self.n + 1) % self.every == 0", "self.n += 1", Fit.WHOLE),
        ("self.n += 1", "(self.n + 1) % self.every == 0", "pass", Fit.SHIFTED),
    ],
)
def test_a_method_that_counts_its_calls_is_a_loop(before: str, test: str, behind: str, fit: Fit) -> None:
    (window,) = windows(METHOD.format(before=before, test=test, behind=behind))
    assert (window.fit, window.certain, window.drops_tail) == (fit, True, None)
    others = "\ndef resume(trainer, n):\n    trainer.n = n\n"
    (window,) = windows(METHOD.format(before=before, test=test, behind=behind) + others)
    assert window.size == ""


ACCELERATED = """
from accelerate import Accelerator

def train(loader, settings, other):
    n = {n}
    accelerator = Accelerator(gradient_accumulation_steps=n)
    for x, y in loader:
        with accelerator.accumulate(model):
            loss = F.mse_loss(model(x), y)
            {divides}
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    ("n", "divides", "again"),
    [
        ("settings.n", "loss = loss / n", "n"),
        ("settings.n", "loss = loss / settings.n", "n"),
        ("2", "loss = loss / n", "n"),
        ("2", "loss = loss / 2", ""),
        ("2", "loss = (loss + F.l1_loss(model(x), y)) / 2", ""),
        ("1", "loss = loss / n", ""),
        ("settings.n", "loss = loss / other", ""),
        ("settings.n", "loss = loss / n if other else loss", ""),
        ("settings.n", "print(loss.item() / n)", ""),
    ],
)
def test_what_an_accelerator_divides_once_more(n: str, divides: str, again: str) -> None:
    (window,) = windows(ACCELERATED.format(n=n, divides=divides))
    assert [loss.divided_again for loss in window.losses] == [again]


BEHIND = """
def train(loader, n, tasks):
    for batch in loader:
        optimizer.zero_grad()
        for {names} in {loop}:
            loss = {loss}
            loss.backward()
            {told}
        optimizer.step()
"""
MSE = "F.mse_loss(model(x), y)"
CHUNKS = "zip(batch.x.chunk(n), batch.y.chunk(n))"


@pytest.mark.parametrize(
    ("names", "loop", "loss", "told", "divided"),
    [
        ("x, y", CHUNKS, MSE, "pass", [False]),
        ("x, y", CHUNKS, MSE + " / n", "pass", [True]),
        ("x, y", "zip(batch.x.split(8), batch.y.split(8))", MSE + " / n", "pass", [None]),
        ("x, y", "zip(batch.x.chunk(n, dim=1), batch.y.chunk(n, dim=1))", MSE, "pass", []),
        ("_", "range(n)", "F.mse_loss(model(batch.x), batch.y)", "pass", [False]),
        ("_", "range(n)", "F.mse_loss(model(batch.x), batch.y) / n", "pass", [True]),
        ("k", "range(n)", "F.mse_loss(model(batch[k].x), batch[k].y)", "pass", []),
        ("x, y", "tasks", MSE, "pass", []),
        ("x, y", "tasks", MSE, "print(loss.item() / len(tasks))", [False]),
        ("x, y", "tasks", MSE + " / len(tasks)", "print(loss.item() / len(tasks))", [True]),
    ],
)
def test_a_step_behind_a_loop_of_micro_batches(
    names: str, loop: str, loss: str, told: str, divided: list[bool | None]
) -> None:
    (window,) = windows(BEHIND.format(names=names, loop=loop, loss=loss, told=told))
    assert [one.is_divided for one in window.losses if window.size and window.certain] == divided


def test_a_comprehension_that_goes_backward_is_a_loop() -> None:
    body = """
def one(x, y, n):
    loss = F.mse_loss(model(x), y)
    loss.backward()
    return loss.item() / n


def train(group):
    optimizer.zero_grad()
    print(sum(one(x, y, len(group)) for x, y in group))
    optimizer.step()
"""
    (window,) = [window for window in windows(body) if window.size]
    assert [(loss.is_mean, loss.is_divided) for loss in window.losses] == [(True, False)]


AT_ONCE = """
from accelerate import Accelerator

def train(loader, n, scheduler, settings):
    {before}
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = {loss}
        {backward}
        {behind}
        optimizer.step()
"""
TOLD = "accelerator = Accelerator(gradient_accumulation_steps=n)"


@pytest.mark.parametrize(
    ("before", "loss", "backward", "behind", "certain"),
    [
        ("pass", MSE + " / n", "loss.backward()", "print((i + 1) % n == 0)", True),
        ("print(len(loader) // n)", MSE + " / n", "loss.backward()", "pass", True),
        ("pass", MSE, "loss.backward()", "if (i + 1) % n == 0: nn.utils.clip_grad_norm_(model.parameters(), 1)", True),
        (TOLD, MSE, "accelerator.backward(loss)", "pass", True),
        ("pass", MSE + " / n", "loss.backward()", "pass", False),
        ("pass", MSE, "loss.backward()", "print((i + 1) % n == 0)", None),
        ("pass", "(" + MSE + " + F.l1_loss(model(x), y)) / 2", "loss.backward()", "print(i % 2 == 0)", None),
        ("print(len(loader) // n)", MSE, "loss.backward()", "pass", None),
        ("pass", MSE + " / len(x)", "loss.backward()", "print(i % n == 0)", None),
        ("pass", MSE + " / n", "loss.backward()", "if (i + 1) % n: continue", None),
    ],
)
def test_what_tells_that_a_step_was_to_wait(
    before: str, loss: str, backward: str, behind: str, certain: bool | None
) -> None:
    found = windows(AT_ONCE.format(before=before, loss=loss, backward=backward, behind=behind))
    assert [window.certain for window in found if window.meant] == ([] if certain is None else [certain])


@pytest.mark.parametrize("rescaled", ["p.grad /= n", "p.grad *= 1 / n", "p.grad.div_(n)"])
def test_gradients_that_are_divided_behind_the_loop(rescaled: str) -> None:
    body = f"""
def train(loader, n):
    optimizer.zero_grad()
    for _ in range(n):
        x, y = next(loader)
        F.mse_loss(model(x), y).backward()
    for p in model.parameters():
        {rescaled}
    optimizer.step()
"""
    (window,) = windows(body)
    assert [loss.is_divided for loss in window.losses] == [None]


@pytest.mark.parametrize(
    ("items", "mean"), [("y.numel()", False), ("len(y)", False), ("part.numel()", True), ("len(part)", True)]
)
def test_a_sum_over_a_part_is_a_mean_if_it_is_divided_by_the_items_of_that_part(items: str, mean: bool) -> None:
    body = f"""
def train(x, y, k):
    optimizer.zero_grad()
    for one, part in zip(x.chunk(k), y.chunk(k)):
        loss = F.mse_loss(model(one), part, reduction="sum") / {items}
        loss.backward()
    optimizer.step()
"""
    (window,) = windows(body)
    assert [loss.is_mean for loss in window.losses] == [mean]


@pytest.mark.parametrize(("loss", "divided"), [("loss", False), ("(loss / every)", True)])
def test_a_number_that_somebody_else_keeps_counts_the_calls(loss: str, divided: bool) -> None:
    body = f"""
def prepare(settings):
    every = settings.every

    def update(engine, batch):
        loss = F.mse_loss(model(batch), batch)
        {loss}.backward()
        if engine.state.iteration % every == 0:
            optimizer.step()
            optimizer.zero_grad()

    return update
"""
    (window,) = windows(body)
    assert [one.is_divided for one in window.losses] == [divided]
    assert window.drops_tail is None


def test_a_clear_in_a_branch_that_can_be_read_doubts_no_window() -> None:
    text = """
def train(loader, n):
    for i, (x, y) in enumerate(loader):
        F.mse_loss(model(x), y).backward()
        if (i + 1) % n == 0:
            if not torch.isfinite(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)):
                optimizer.zero_grad()
                continue
            optimizer.step()
            optimizer.zero_grad()
"""
    (window,) = windows(text)
    assert window.certain


UNREAD = """
from elsewhere import look

def train(loader, n, every):
    {before}
    for i, (x, y) in enumerate(loader):
        F.mse_loss(model(x), y).backward()
        {inside}
        if (i + 1) % n == 0:
            {waiting}
            optimizer.step()
            optimizer.zero_grad()
        {behind}
"""


@pytest.mark.parametrize(
    ("at", "code", "certain"),
    [
        ("before", "look(model)", True),
        ("behind", "if i % every == 0: look(model)", True),
        ("inside", "look(model)", False),
        ("waiting", "look(model)", False),
        ("inside", "if every: look(model)", False),
    ],
)
def test_whoever_is_handed_gradients_in_each_window_may_divide_them(at: str, code: str, certain: bool) -> None:
    places = dict.fromkeys(("before", "inside", "waiting", "behind"), "pass") | {at: code}
    (window,) = windows(UNREAD.format(**places))
    assert window.certain is certain


def test_a_first_group_begins_where_its_counter_does_whatever_came_before() -> None:
    text = """
def train(loader, n, prepare):
    prepare(model)
    for i, (x, y) in enumerate(loader):
        (F.mse_loss(model(x), y) / n).backward()
        if i % n == 0:
            optimizer.step()
            optimizer.zero_grad()
"""
    (window,) = windows(text)
    assert window.fit is Fit.SHIFTED


def test_what_an_accelerator_was_told_is_what_its_attribute_gives() -> None:
    asked = ACCELERATED.format(n="settings.n", divides="loss = loss / accelerator.gradient_accumulation_steps")
    (window,) = windows(asked)
    assert [loss.divided_again for loss in window.losses] == ["n"]
    undone = ACCELERATED.format(n="settings.n", divides="loss = loss * accelerator.gradient_accumulation_steps / other")
    (window,) = windows(undone)
    assert [loss.divided_again for loss in window.losses] == [""]


def test_what_is_multiplied_by_the_length_of_a_window_is_not_divided_by_it() -> None:
    (loss,) = only("(i + 1) % n == 0", backward="(F.mse_loss(model(x), y) * n)").losses
    assert loss.is_divided is False


def test_a_loop_that_does_not_end_with_its_data_has_no_tail() -> None:
    text = """
def train(loader, n, most):
    i = steps = 0
    while steps < most:
        (F.mse_loss(model(*loader.next()), 0) / n).backward()
        i += 1
        if i % n == 0:
            optimizer.step()
            optimizer.zero_grad()
            steps += 1
"""
    assert not any(window.drops_tail for window in windows(text))


def test_a_test_that_is_handed_over_is_told_where_it_is_made() -> None:
    text = """
def update(loss, *, last):
    loss.backward()
    if last:
        optimizer.step()
        optimizer.zero_grad()

def train(loader, n):
    for i, (x, y) in enumerate(loader):
        update(F.mse_loss(model(x), y) / n, last=(i + 1) % n == 0)
"""
    (window,) = windows(text)
    assert [test.text for test in window.tests] == ["update(F.mse_loss(model(x), y) / n, last=(i + 1) % n == 0)"]


WAITED = """
def train(loader, n, late):
    for i, (x, y) in enumerate(loader):
        F.mse_loss(model(x), y).backward()
        if i % n == 0:
            {more}
            optimizer.step()
            optimizer.zero_grad()
        {again}
"""


@pytest.mark.parametrize(
    ("more", "again", "meant"),
    [
        ("pass", "optimizer.step()", ["another step waits for n"]),
        ("pass", "if late: optimizer.step()", []),
        ("pass", "pass", []),
    ],
)
def test_a_step_beside_one_that_waits(more: str, again: str, meant: list[str]) -> None:
    found = windows(WAITED.format(more=more, again=again))
    assert [window.meant for window in found if window.meant] == meant


def test_a_penalty_that_is_due_now_and_then_has_a_step_of_its_own() -> None:
    text = """
def train(loader, n):
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        optimizer.step()
        if i % n == 0:
            optimizer.zero_grad()
            (n * model.weight.norm()).backward()
            optimizer.step()
"""
    assert not any(window.meant for window in windows(text))


@pytest.mark.parametrize(("asked", "certain"), [("i % n == 0", [True]), ("i % 7 == 0", [False])])
def test_a_number_that_the_program_waits_for_elsewhere_was_meant_for_the_step(asked: str, certain: list[bool]) -> None:
    text = f"""
def train(loader, n):
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        (F.mse_loss(model(x), y) / n).backward()
        optimizer.step()
        if {asked}:
            print(i)
"""
    assert [window.certain for window in windows(text) if window.meant] == certain


def test_of_a_window_whose_length_is_1_as_it_stands_nobody_knows_what_else_would_divide() -> None:
    text = """
def train(loader, n=1):
    for i, (x, y) in enumerate(loader):
        loss = F.mse_loss(model(x), y)
        if n > 1:
            loss /= n
        loss.backward()
        if (i + 1) % n == 0:
            optimizer.step()
            optimizer.zero_grad()

train(loader)
"""
    (window,) = windows(text)
    assert [loss.is_divided for loss in window.losses] in ([], [None])
