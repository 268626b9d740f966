"""Tasks in batches, endless and shuffled, from a grain iterator whose place can be saved.

    step -> epoch, place in it -> that epoch's order of the tasks -> batch of all shards -> this shard's part

An epoch is as many whole batches as the tasks fill. No task comes twice in an epoch, and a remainder that fills no
batch is left out of it; the next order leaves out others. What all shards draw together at a step does not depend on
how many they are. grain counts the steps and saves the count. There are no workers: the tasks lie in memory.
"""

import sys
from collections.abc import Sequence

import grain
import numpy as np

from murphy_jax.errors import UserError
from murphy_jax.tasks.task import Task


def batches(
    tasks: Sequence[Task], *, seed: int, batch_size: int, shard_index: int = 0, shard_count: int = 1
) -> grain.DatasetIterator:
    """An iterator over lists of `batch_size` tasks, for `grain.checkpoint.CheckpointSave` and `CheckpointRestore`.

    Args:
        tasks: the same, in the same order, in every process and when a run is resumed.
        seed: any number of at least 0; other seeds give unrelated orders.
        batch_size: tasks of one step in this process.
        shard_index: this process, in [0, shard_count).
        shard_count: how many processes draw from the same tasks.

    Raises:
        UserError: there are fewer tasks than one step of all processes needs.
    """
    assert batch_size >= 1 and 0 <= shard_index < shard_count
    needed = batch_size * shard_count
    if len(tasks) < needed:
        processes = "" if shard_count == 1 else f" in each of {shard_count} processes"
        raise UserError(
            f"Too few tasks: {len(tasks)} given, at least {needed} needed for "
            f"rollout.prompts_per_step = {batch_size}{processes}. Lower rollout.prompts_per_step, or take more tasks: "
            "raise tasks.count, or give a longer file or another split."
        )
    steps_per_epoch = len(tasks) // needed

    def draw(step: int) -> list[Task]:
        epoch, place = divmod(step, steps_per_epoch)
        start = place * needed + shard_index * batch_size
        return [tasks[index] for index in order(len(tasks), seed=seed, epoch=epoch)[start : start + batch_size]]

    steps = grain.MapDataset.range(sys.maxsize).map(draw)
    return iter(steps.to_iter_dataset(grain.ReadOptions(num_threads=0, prefetch_buffer_size=0)))


def order(count: int, *, seed: int, epoch: int) -> list[int]:
    """One epoch's random order of the numbers below `count`.

    Sorting a generator's raw bits, for those are the same in every version of NumPy and `permutation` need not be.
    """
    bits = np.random.PCG64(np.random.SeedSequence((seed, epoch))).random_raw(count)
    return [int(index) for index in np.argsort(bits, kind="stable")]
