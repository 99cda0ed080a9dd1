"""Everything a Step refuses, and what it tells its user to write instead."""

from torch import Tensor

from zerograd.errors import CaptureError, Diverged, StepError, TornStep


def optimizers(what: str) -> StepError:
    return StepError(what, cure="Give it one optimizer, or a list of different ones: Step([a, b]).", slug="optimizers")


def option(name: str, given: object, valid: str) -> StepError:
    return StepError(f"{name}={given!r} means nothing to a Step", cure=f"{name} is {valid}.", slug="options")


def outside_block(what: str) -> StepError:
    return StepError(f"{what} outside the block", cure="Write it under `with step:`.", slug="outside-block")


def other_thread(what: str) -> StepError:
    return StepError(f"{what} from another thread", cure="A block belongs to the thread that opened it.", slug="thread")


def needs_closure(optimizer: str) -> StepError:
    return StepError(
        f"{optimizer}.step() needs a closure, and leaving the block has none to give",
        cure="Write step.minimize(lambda step: step.backward(loss_fn(model(x), y))), without `with step:`.",
        slug="closures",
    )


def copied_inside() -> StepError:
    return StepError(
        "a Step is copied while its block is open: its deposits have no copy",
        cure="Copy it between two blocks.",
        slug="nested-blocks",
    )


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


def foreign_deposit(slots: int) -> StepError:
    return StepError(
        f"a gradient was deposited past the step, in {_slots(slots)}",
        cure="Inside the block write step.backward(loss) for loss.backward(); to accumulate, loop over "
        "step.micro_batches(group).",
        slug="foreign-deposit",
    )


def cleared_inside(slots: int) -> StepError:
    return StepError(
        f"what step.backward() deposited in {_slots(slots)} was cleared inside the block",
        cure="Leave zero_grad() out: the block clears when it is entered and left. To give the step up: step.abort().",
        slug="cleared-inside",
    )


def changed_inside(slots: int) -> StepError:
    return StepError(
        f"the gradient in {_slots(slots)} was changed inside the block, after step.backward()",
        cure="Write Step(..., clip=1.0) to clip, Step(..., inspect=fn) to look at gradients or change them, "
        "step.backward(loss) for loss.backward(), step.micro_batches(group) to accumulate.",
        slug="changed-inside",
    )


def converted_inside() -> StepError:
    return StepError(
        'parameters were moved to another device or dtype inside the block, under grads="flat"',
        cure="Call model.to(...) or model.half() before `with step:`.",
        slug="changed-inside",
    )


def stepped_inside(optimizer: str) -> StepError:
    return StepError(
        f"{optimizer}.step() was called by hand inside the block",
        cure="Leave it out: leaving the block steps, once. To end it without a step: step.abort().",
        slug="stepped-inside",
    )


def detached_loss(loss: object) -> StepError:
    what = "does not require a gradient" if isinstance(loss, Tensor) else f"is a {type(loss).__name__}, not a tensor"
    return StepError(
        f"the loss {what}",
        cure="Every path to the parameters is cut: look for detach(), no_grad(), .item() or frozen parameters.",
        slug="detached-loss",
    )


def all_frozen() -> StepError:
    return StepError(
        "every parameter of the step is frozen",
        cure="None of them requires a gradient: call requires_grad_(True) on what shall learn.",
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


def second_iteration() -> StepError:
    return StepError(
        "micro_batches() is under way already: nested, zipped, or left before its end",
        cure="One loop over one group. For batches that belong together: step.micro_batches(zip(a, b)).",
        slug="second-iteration",
    )


def other_block() -> StepError:
    return StepError(
        "these micro_batches() were begun in an earlier block",
        cure="Call step.micro_batches(group) anew under each `with step:`.",
        slug="outside-block",
    )


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


def freed_graph() -> StepError:
    return StepError(
        "a second backward goes through a graph that the first has freed",
        cure="Two losses of one forward pass: step.backward(first, retain_graph=True), then step.backward(second). "
        "What an earlier block has computed, a hidden state say: step.carry(state), or state.detach().",
        slug="freed-graph",
    )


def empty_slots(slots: int) -> StepError:
    return StepError(
        f"nothing was deposited in any of the step's {slots} slots",
        cure="The weights would not move. If this batch has nothing to learn from, call step.abort().",
        slug="empty-slots",
    )


def not_finite(cause: str) -> StepError:
    return StepError(cause, cure='nonfinite="skip" leaves such a step out.', slug="not-finite")


def diverged(skips: int) -> Diverged:
    return Diverged(
        f"{skips} steps in a row had gradients that are not finite",
        cure="The weights have not moved since. Lower the learning rate, or look at the loss of these batches.",
        slug="diverged",
    )


def torn_step(error: Exception, schedule: str | None = None) -> TornStep:
    """`schedule`: the class of the one that raised, if it was none of the optimizers."""
    what = "Some weights may have moved and some not"
    return TornStep(
        f"{schedule or 'optimizer'}.step() raised {type(error).__name__}: {error}",
        cure=f"{what if schedule is None else 'The weights have moved, and the schedule has not'}: "
        "load a checkpoint before you go on. "
        'Step(..., restore="weights") keeps a copy, and brings them back.',
        slug="torn-step",
    )


def idle_optimizer(wrapper: str) -> StepError:
    return StepError(
        f"{wrapper}.step() did nothing: the optimizer inside it was not stepped",
        cure="Accelerate's does so under accumulate(): leave accumulate() out and loop over step.micro_batches(group), "
        "or give the Step what is inside: Step(optimizer.optimizer).",
        slug="idle-optimizer",
    )


def own_scaler(wrapper: str) -> StepError:
    return StepError(
        f"the {wrapper} has a GradScaler of its own, and would divide by its scale once more",
        cure="Give the Step both: Step(optimizer.optimizer, scaler=accelerator.scaler).",
        slug="scaler",
    )


def plateau() -> StepError:
    return StepError(
        "scheduler=ReduceLROnPlateau: it moves by a metric, and a commit has none",
        cure="Leave it out, and call scheduler.step(validation_loss) yourself, after the validation.",
        slug="scheduler",
    )


def foreign_scheduler() -> StepError:
    return StepError(
        "the scheduler moves an optimizer that this Step does not hold",
        cure="Give it to the Step that holds the optimizer: the schedule moves when those weights move.",
        slug="scheduler",
    )


def scaler_must_skip(nonfinite: str) -> StepError:
    return StepError(
        f'nonfinite="{nonfinite}" with a GradScaler',
        cure='A loss scale finds its size by steps that overflow and are left out. Leave nonfinite="skip".',
        slug="scaler",
    )


def unscaled_inside() -> StepError:
    return StepError(
        "scaler.unscale_() or scaler.step() was called by hand inside the block",
        cure="Leave it out: the commit divides by the loss scale. To see true gradients: Step(..., inspect=fn).",
        slug="scaler",
    )


def updated_inside() -> StepError:
    return StepError(
        "scaler.update() was called by hand inside the block",
        cure="Leave it out: the commit updates the scale, once.",
        slug="scaler",
    )


def scaled_by_hand() -> StepError:
    return StepError(
        "the loss was scaled by hand: scaler.scale(loss) inside step.backward()",
        cure="Write step.backward(loss): the Step has the scaler and would multiply a second time.",
        slug="scaler",
    )


def graph_of_scaled() -> StepError:
    return StepError(
        "create_graph=True where gradients contain a loss scale or weights",
        cure="Differentiate torch.autograd.grad(loss, parameters, create_graph=True) instead, and add it to the loss.",
        slug="graph",
    )


def buffers_of_what() -> StepError:
    return StepError(
        'restore="buffers" without a model',
        cure='Buffers belong to a module: Step(optimizer, model=model, restore="buffers").',
        slug="options",
    )


def no_leaf() -> StepError:
    return StepError(
        "also= names something that gets no gradient",
        cure="Call x.requires_grad_() before the forward pass and give also=[x]; for what is computed, retain_grad().",
        slug="also",
    )


def leaf_is_slot() -> StepError:
    return StepError(
        "also= names a parameter of the step",
        cure="It gets its gradient as it is. To look at it: Step(..., inspect=fn).",
        slug="also",
    )


def closure(what: str, cure: str) -> StepError:
    return StepError(f"{what} cannot be", cure=cure, slug="closures")


def carried_from_where(states: int) -> StepError:
    return StepError(
        f"carry() cannot tell from which of {states} states of a block that did not commit this one was made",
        cure="Carry them in the same line and in the same order in every block, or together, as one tuple or dict.",
        slug="carry",
    )


def uncut(batch: object) -> StepError:
    return StepError(
        f"split() does not know the rows of a {type(batch).__name__}",
        cure="It cuts tensors, tuples and dicts of tensors with as many rows each, and what has len() and slices.",
        slug="split",
    )


def uncut_scalar() -> StepError:
    return StepError(
        "split() was given a tensor without dimensions, which has no rows",
        cure="Give it the batch; what fn() needs besides goes into the function, or into a tuple with the batch.",
        slug="split",
    )


def uncut_list() -> StepError:
    return StepError(
        "split() was given a list: are these the columns of the batch or its samples?",
        cure="For columns write tuple(batch); samples belong in one tensor, or in a class of their own.",
        slug="split",
    )


def in_flight() -> StepError:
    return StepError(
        "state_dict() while gradients are in flight: of an open block, or loaded for the next one",
        cure='Take it after the step, or say inflight="include" to keep them or "drop" to lose them.',
        slug="in-flight",
    )


def loaded_inside() -> StepError:
    return StepError("load_state_dict() inside the block", cure="Load before `with step:`.", slug="in-flight")


def other_slots(saved: int, present: int) -> StepError:
    return StepError(
        f"gradients of {saved} slots are in flight, and the step has {present}",
        cure='Give the Step the same parameters, or save with inflight="drop".',
        slug="in-flight",
    )


def other_shape(name: str, saved: list[int], present: list[int]) -> StepError:
    return StepError(
        f"the gradient in flight of {name} is {saved}, and the parameter is {present}",
        cure='Give the Step the same parameters, or save with inflight="drop".',
        slug="in-flight",
    )


def no_state(what: str, why: str) -> StepError:
    return StepError(
        f"{what} {why}",
        cure="Load what a Step's state_dict() has returned. Nothing was changed.",
        slug="in-flight",
    )


def not_recorded(what: str) -> CaptureError:
    return CaptureError(
        f"{what} cannot be recorded: it decides in Python, at every step anew",
        cure="Leave it out of the captured function, or run that function under `with step:`.",
        slug="capture",
    )


def not_captured(why: str, cure: str) -> CaptureError:
    return CaptureError(
        f"this step cannot be captured: {why}",
        cure=f"{cure} Nothing was changed, and `with step: fn(...)` does the same uncaptured.",
        slug="capture",
    )


def _slots(count: int) -> str:
    return f"{count} slot{'s' * (count != 1)}"
