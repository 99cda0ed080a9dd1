"""A schedule that moves before its optimizer has stepped, and one that a loop of no rounds excuses."""

from source.execute.reading import MADE, certain

EPOCHS = """\
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)


def main():
    for epoch in range(9):
        {first}
        for x, y in loader:
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
        {last}


if __name__ == "__main__":
    main()
"""


def test_a_test_around_all_of_it_is_no_evidence_that_nothing_has_stepped() -> None:
    given = MADE.replace("loader = [", "from data import loader\nothers = [")
    assert certain(EPOCHS.format(first="pass", last="scheduler.step()"), made=given) == []
    assert certain(EPOCHS.format(first="scheduler.step()", last="pass"), made=given) == ["ZG301"]


def test_a_schedule_that_may_have_moved_has_stepped_nobody() -> None:
    body = """
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)


def main(resumed):
    for _ in range(resumed):
        scheduler.step()
    for epoch in range(9):
        {first}
        for x, y in loader:
            optimizer.zero_grad()
            F.mse_loss(model(x), y).backward()
            optimizer.step()
        {last}
"""
    assert certain(body.format(first="scheduler.step()", last="pass")) == ["ZG301"]
    assert certain(body.format(first="pass", last="scheduler.step()")) == []
