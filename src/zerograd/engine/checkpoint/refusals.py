"""What is wrong with a checkpoint, or with what shall go into one."""

from zerograd.errors import CheckpointError


def damaged(name: str, why: str) -> CheckpointError:
    return CheckpointError(
        f"checkpoint {name} is damaged: {why}",
        cure="It was not loaded. resume() goes back to the newest one that is whole.",
        slug="damaged-checkpoint",
    )


def all_damaged(names: list[str]) -> CheckpointError:
    return CheckpointError(
        f"every checkpoint is damaged: {', '.join(names)}",
        cure="None was loaded, and nothing was changed. Move the folder away to begin anew.",
        slug="damaged-checkpoint",
    )


def no_such(name: str, known: list[str]) -> CheckpointError:
    return CheckpointError(
        f"there is no checkpoint {name}", cure=f"There are: {', '.join(known) or 'none'}.", slug="checkpoint"
    )


def unkeepable(path: str, value: object) -> CheckpointError:
    return CheckpointError(
        f"{path} is a {type(value).__name__}, which a checkpoint cannot hold",
        cure="It holds numbers, texts, tensors, and lists, tuples, sets and dicts of them: loading must not run code.",
        slug="checkpoint",
    )


def other_model(what: str) -> CheckpointError:
    return CheckpointError(
        f"the checkpoint is of something else: {what}",
        cure="Build the model, optimizers and Steps as they were when it was saved. Nothing was changed.",
        slug="other-checkpoint",
    )


def past_the_group() -> CheckpointError:
    return CheckpointError(
        "saved inside a block, and the loader has already handed out the rest of its group",
        cure="Save between the steps, or give Checkpoints a zerograd.Cursor over the loader: it can go back.",
        slug="checkpoint",
    )


def not_scattered() -> CheckpointError:
    return CheckpointError(
        'saved inside a block under fully_shard with sync="overlap": its gradients are not in the slots yet',
        cure='Save between the steps, or use sync="each".',
        slug="checkpoint",
    )


def no_position(loader: object) -> CheckpointError:
    return CheckpointError(
        f"loader= is a {type(loader).__name__}, which does not know where it is",
        cure="Give zerograd.Cursor(loader), torchdata's StatefulDataLoader, or anything with state_dict().",
        slug="checkpoint",
    )
