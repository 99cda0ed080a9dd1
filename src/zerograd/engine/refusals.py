"""Everything a Step refuses, and what it tells its user to write instead."""

from zerograd.errors import StepError


def outside_block(what: str) -> StepError:
    return StepError(f"{what} outside the block", cure="Write it under `with step:`.", slug="outside-block")


def other_thread(what: str) -> StepError:
    return StepError(f"{what} from another thread", cure="A block belongs to the thread that opened it.", slug="thread")


def nested_block() -> StepError:
    return StepError("the block is already open", cure="One `with step:` at a time.", slug="nested-blocks")


def torn() -> StepError:
    return StepError(
        "an earlier optimizer.step() was torn: the weights are neither old nor new",
        cure="Load a checkpoint and make a new Step.",
        slug="torn-step",
    )


def shared_parameters(shared: int) -> StepError:
    return StepError(
        f"two open steps share {shared} parameter{'s' * (shared != 1)}",
        cure="Close one block before you open the other, or give both optimizers to one Step.",
        slug="shared-parameters",
    )


def detached_loss() -> StepError:
    return StepError(
        "the loss does not require a gradient",
        cure="Every path to the parameters is cut: look for detach(), no_grad(), .item() or frozen parameters.",
        slug="detached-loss",
    )


def looped_backward() -> StepError:
    return StepError(
        "backward(loss) is called in a loop: is the step the mean of these losses or their sum?",
        cure='Loop over step.micro_batches(group) for the mean, micro_batches(group, reduce="sum") for the sum.',
        slug="looped-backward",
    )


def weight_inside() -> StepError:
    return StepError(
        "a deposit inside micro_batches() has a weight of its own",
        cure="The micro-batch has one: micro_batches(group, weight=...).",
        slug="two-denominators",
    )


def weighted_sum() -> StepError:
    return StepError("a sum has no weights", cure='Leave out weight= or reduce="sum".', slug="weight")


def left_early() -> StepError:
    return StepError(
        "micro_batches() was left before its end",
        cure="A break or return in the middle would commit part of the group. Call step.abort() to give it up.",
        slug="left-early",
    )


def broken_backward() -> StepError:
    return StepError(
        "a backward failed inside the block and the exception was caught there",
        cure="It may have deposited half of its gradients. Let the exception leave the block: it rolls back.",
        slug="broken-backward",
    )


def empty_slots(slots: int) -> StepError:
    return StepError(
        f"nothing was deposited in any of the step's {slots} slots",
        cure="The weights would not move. If this batch has nothing to learn from, call step.abort().",
        slug="empty-slots",
    )


def not_finite(cause: str) -> StepError:
    return StepError(cause, cure='nonfinite="skip" leaves such a step out.', slug="not-finite")
