"""What is wrong with a checkpoint, or with what shall go into one."""

from zerograd.errors import CheckpointError, ZerogradError

_NOT_SAVED, _NOT_LOADED = "the checkpoint was not saved: ", "the checkpoint was not loaded: "


def in_words(error: BaseException) -> str:
    text = str(error).strip()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def cause_of(error: ZerogradError) -> str:
    return error.what.removeprefix(_NOT_SAVED).removeprefix(_NOT_LOADED)


# Saving


def not_saved(cause: str) -> CheckpointError:
    return CheckpointError(
        f"{_NOT_SAVED}{cause}",
        cure="Those saved before it are whole, and the run can go on.",
        slug="not-saved",
    )


def no_state(thing: str, error: Exception) -> CheckpointError:
    return not_saved(f"{thing}.state_dict() raised {in_words(error)}")


def unkeepable(path: str, what: str) -> CheckpointError:
    return CheckpointError(
        f"{path} is {what}, which a checkpoint cannot hold",
        cure="It holds numbers, texts, dense tensors, and lists, tuples, sets and dicts of them: loading runs no code.",
        slug="checkpoint",
    )


def shard_of_some(path: str) -> CheckpointError:
    return CheckpointError(
        f"{path} is sharded, and the ranks that save together do not all hold a part of it",
        cure="Save what is sharded over other ranks in a folder of its own, by those ranks.",
        slug="checkpoint",
    )


def two_names(name: str) -> CheckpointError:
    return CheckpointError(
        f"without the names of its wrappers, two tensors of the model are called {name}",
        cure="Give Checkpoints the module inside the wrapper, and the wrapper's own state through also=.",
        slug="checkpoint",
    )


def past_the_group() -> CheckpointError:
    return CheckpointError(
        "saved inside a block, and the loader cannot say what of its data the block has used",
        cure="Save between the steps, or give Checkpoints a zerograd.Cursor over the loader: it can go back.",
        slug="inside-a-block",
    )


def unknown_micro_batches() -> CheckpointError:
    return CheckpointError(
        "saved inside a block whose micro-batches are not the Cursor's batches, one by one and in order",
        cure="Nobody can tell which data is still to come. Save between the steps, or loop over "
        "step.micro_batches(group) as groups(cursor, n) made it, and change the batches inside the loop.",
        slug="inside-a-block",
    )


def loose_deposits() -> CheckpointError:
    return CheckpointError(
        "saved inside a block that has deposited outside of micro_batches()",
        cure="Nobody can tell whether the batch is used up. Save between the steps: behind the block.",
        slug="inside-a-block",
    )


def unlike_blocks() -> CheckpointError:
    return CheckpointError(
        "saved inside several blocks, which have used different parts of the data",
        cure="Save between the steps, or loop over the micro_batches() of a join.",
        slug="inside-a-block",
    )


def two_epochs() -> CheckpointError:
    return CheckpointError(
        "saved inside a block whose group began in the epoch before",
        cure="Save between the steps, or let groups end with the epoch: for group in groups(cursor, n).",
        slug="inside-a-block",
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


def no_loader(thing: object) -> CheckpointError:
    return CheckpointError(
        f"Cursor() takes a torch DataLoader, and this is a {type(thing).__name__}",
        cure="Give it the DataLoader inside, or give Checkpoints anything that has state_dict() itself.",
        slug="checkpoint",
    )


def no_methods(name: str, thing: object) -> CheckpointError:
    return CheckpointError(
        f"also[{name!r}] is a {type(thing).__name__}, which has no state_dict() and load_state_dict()",
        cure="Give also= things that have both.",
        slug="checkpoint",
    )


# Resuming


def not_loaded(cause: str) -> CheckpointError:
    return CheckpointError(
        f"{_NOT_LOADED}{cause}",
        cure="Everything is what it was before resume().",
        slug="not-loaded",
    )


def half_loaded(cause: str, things: list[str]) -> CheckpointError:
    return CheckpointError(
        f"{_NOT_LOADED}{cause}; and {', '.join(things)} cannot be brought back to what it was",
        cure="Everything else is what it was before resume(). Start the process anew.",
        slug="not-loaded",
    )


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


def other_format(name: str, found: object, known: int) -> CheckpointError:
    version = f"format {found}" if found is not None else "the format of an earlier zerograd"
    return CheckpointError(
        f"checkpoint {name} is in {version}, and this zerograd reads format {known}",
        cure="Nothing was changed. Finish the run with the zerograd that saved it, or begin in another folder.",
        slug="other-checkpoint",
    )


def other_model(what: str) -> CheckpointError:
    return CheckpointError(
        f"the checkpoint is of something else: {what}",
        cure="Build the model, optimizers and Steps as they were when it was saved. Nothing was changed.",
        slug="other-checkpoint",
    )
