"""A training that can be stopped anywhere, saves as it goes, and tells what it has seen."""

from torch import nn

from zerograd import Checkpoints, Cursor, Step, groups


class _Stop(Exception):
    pass


def run(
    model: nn.Module,
    step: Step,
    cursor: Cursor,
    saved: Checkpoints,
    *,
    size: int,
    stop: int | None,
    inside: tuple[int, int] | None,
) -> tuple[list[float], bool]:
    """Two epochs in groups of `size`: the samples that were seen, and whether it came to its end.

    It stops behind step number `stop`, or `inside` a step: (steps before, micro-batch), having saved there.
    """
    seen: list[float] = []
    try:
        saved.resume()
        while cursor.epoch < 2:
            for group in groups(cursor, size, begun=step.in_flight):
                with step:
                    for number, (batch,) in enumerate(step.micro_batches(group, weight=lambda item: len(item[0]))):
                        step.backward(model(batch).square().mean())
                        seen += batch.sum(1).tolist()
                        if inside == (step.committed, number):
                            saved.save()
                            raise _Stop
                saved.keep_up()
                if stop == step.committed:
                    raise _Stop
    except _Stop:
        return seen, False
    finally:
        saved.close()
    return seen, True
