"""Branches of one setting belong together, and what the other arm does is doubted."""

from source.execute.reading import certain, found

SETTING = """
def train(amp, scaler):
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        if amp:
            scaler.scale(loss).backward()
        else:
            loss.backward()
        if {again}:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
"""


def test_one_setting_is_answered_once() -> None:
    assert found(SETTING.format(again="amp")) == []


def test_another_setting_is_another_question() -> None:
    assert ("ZG202", "possible") in found(SETTING.format(again="other()"))


def test_a_clear_that_a_branch_may_skip_is_doubted() -> None:
    body = """
for x, y in loader:
    if x.sum() > 0:
        optimizer.zero_grad()
    F.mse_loss(model(x), y).backward()
    optimizer.step()
"""
    assert found(body) == [("ZG001", "possible")]


def test_a_test_stays_the_same_under_another_name() -> None:
    body = """
def train(args, scaler):
    use_amp = args.amp
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        (scaler.scale(loss) if args.amp else loss).backward()
        if use_amp:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
"""
    assert certain(body) == []


def test_a_skipped_step_that_leaves_its_gradient() -> None:
    body = """
for x, y in loader:
    loss = F.mse_loss(model(x), y)
    loss.backward()
    if torch.isfinite(loss):
        optimizer.step()
        optimizer.zero_grad()
"""
    assert certain(body) == ["ZG007"]


def test_the_answers_that_decide_most_are_forgotten_last() -> None:
    peek = "        if settings.s{n}:\n            nn.utils.clip_grad_norm_(model.parameters(), {n})\n"
    many = "".join(peek.format(n=n) for n in range(1, 8))
    body = """
def train(settings, n):
    scaler = torch.amp.GradScaler()
    for i, (x, y) in enumerate(loader):
        loss = F.mse_loss(model(x), y)
        if settings.half:
            scaler.scale(loss).backward()
            if (i + 1) % n == 0:
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad()
        else:
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
{many}{many}
"""
    assert not {"ZG001", "ZG202"} & set(certain(body.format(many=many)))


def test_who_jumps_out_of_a_block_leaves_it_alone() -> None:
    body = """
for x, y in loader:
    optimizer.zero_grad()
    with torch.no_grad():
        if x is None:
            continue
        out = model(x)
    loss = F.mse_loss(out, y)
    loss.backward()
    optimizer.step()
"""
    assert certain(body) == ["ZG003"]


def test_a_block_in_which_something_is_to_fail_accuses_nobody() -> None:
    body = """
import unittest


def train(one, clears):
    for x, y in loader:
        if clears:
            one.zero_grad()
        F.mse_loss(model(x), y).backward()
        one.step()


class Tests(unittest.TestCase):
    def test_it(self):
        {block}
            train(optimizer, False)
"""
    assert certain(body.format(block="if True:")) == ["ZG001"]
    assert certain(body.format(block="with self.assertRaises(ValueError):")) == []


REFUSED = """
def train(settings, scaler, n):
    if settings.{switch} and n > 1:
        raise ValueError
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        (F.mse_loss(model(x), y) / n).backward()
        if settings.clipped:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if (i + 1) % n == 0:
            optimizer.step()
"""


def test_what_is_refused_together_with_a_switch_matters_where_that_decides() -> None:
    assert "ZG002" in certain(REFUSED.format(switch="remote"))
    assert "ZG302" not in certain(REFUSED.format(switch="clipped"))
