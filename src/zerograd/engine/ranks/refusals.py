"""What only several ranks together can get wrong, and what to do about it."""

from datetime import timedelta

import torch.distributed as dist

from zerograd.engine.weighing import Weighing
from zerograd.errors import PeerFailed, StepError, TornStep


def flat() -> StepError:
    return StepError(
        'grads="flat" across ranks: their wrappers have buffers of their own', cure="Leave out grads=.", slug="options"
    )


def peer_failed(group: dist.ProcessGroup, rank: int, cause: str) -> PeerFailed:
    return PeerFailed(
        f"rank {dist.get_global_rank(group, rank)} failed: {cause}",
        cure="This rank has rolled back with it, and nothing was committed anywhere. Ranks that go on must all go on.",
        slug="peer-failed",
    )


def lost_ranks(limit: timedelta, error: Exception) -> PeerFailed:
    return PeerFailed(
        f"a rank did not vote within {limit.total_seconds():.0f} s, or is gone: {str(error).splitlines()[0]}",
        cure="Nothing was committed here. Start all ranks from the last checkpoint; torchrun --max-restarts does.",
        slug="peer-failed",
    )


def out_of_step(error: BaseException) -> TornStep:
    return TornStep(
        f"this rank failed after all ranks had agreed to commit: {error!r}",
        cure="The others have moved on. Start all ranks again from the last checkpoint; torchrun --max-restarts does.",
        slug="torn-step",
    )


def mixed_ranks(one: Weighing, other: Weighing) -> StepError:
    return StepError(
        f"some ranks deposited {one.told} and some {other.told}: their sum has no denominator",
        cure="Write the same loop for every rank.",
        slug="two-denominators",
    )


def sync_commit(why: str) -> StepError:
    return StepError(
        f'sync="commit" cannot be: {why}', cure='Leave sync= out, or say "overlap" or "each".', slug="sync"
    )


def two_parties() -> StepError:
    return StepError(
        "the parameters of this Step belong to different groups of ranks",
        cure="Give each group a Step of its own.",
        slug="sync",
    )


def joined_parties() -> StepError:
    return StepError(
        "the Steps of this join belong to different groups of ranks",
        cure="All ranks must commit all of them or none: join Steps of one group.",
        slug="sync",
    )


def sparse_across_ranks() -> StepError:
    return StepError(
        "a sparse gradient is to be averaged over the ranks at commit",
        cure='Only DDP itself can: say Step(..., sync="each"), or make the embedding dense.',
        slug="sync",
    )


def closure_across_ranks() -> StepError:
    return StepError(
        "minimize() across ranks cannot be",
        cure="A closure is evaluated as often as one rank's loss asks for. Minimise on one rank alone.",
        slug="closures",
    )


def left_gathering(ended: int) -> StepError:
    return StepError(
        f"{ended} rank{'s' * (ended != 1)} left the block while others still have micro-batches",
        cure="Every forward gathers parameters from all ranks: loop over step.micro_batches(group) on each, "
        "even where the group is empty.",
        slug="sync",
    )


def nothing_to_gather_with(ranks: int) -> StepError:
    return StepError(
        f"{ranks} rank{'s have' if ranks > 1 else ' has'} no micro-batch, and never had one",
        cure="Every forward gathers parameters from all ranks, so it runs one of its own again, without weight. "
        "Give every rank at least one in the first step.",
        slug="sync",
    )


def uneven_backwards(ranks: int, size: int) -> StepError:
    return StepError(
        f"{ranks} of {size} ranks are about to run a backward that synchronises, and the others are not",
        cure="Such a backward waits for all ranks: call step.backward() as often on each of them.",
        slug="sync",
    )


def unfinished() -> StepError:
    return StepError(
        "DDP was to reduce with this backward, which did not reach all of its parameters",
        cure='Say Step(..., sync="commit"), or DDP(..., find_unused_parameters=True).',
        slug="sync",
    )


def all_reduce_hook() -> StepError:
    return StepError(
        "weighted micro-batches under fully_shard with set_all_reduce_hook()",
        cure="What such a hook divides by cannot be known. Shard over a mesh with a dimension for replicas instead.",
        slug="sync",
    )


def clipped_apart(parameters: int) -> StepError:
    return StepError(
        f"clip= by norm, and {parameters} parameters beside the sharded ones are not the same on all ranks",
        cure="Ranks would clip by different norms. Leave clip= out, clip by value, or give these a Step of their own.",
        slug="sync",
    )
