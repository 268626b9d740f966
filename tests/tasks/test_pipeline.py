"""The order in which training sees its tasks, and resuming in the middle of it."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import grain
import numpy as np
import orbax.checkpoint as ocp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from murphy_jax.errors import UserError
from murphy_jax.tasks import pipeline
from murphy_jax.tasks.task import Task

SEEDS = st.integers(0, 2**64)


def make_tasks(count: int) -> tuple[Task, ...]:
    return tuple(Task(task_id=str(i), prompt="", entry_point="solve", tests=()) for i in range(count))


def take(data: Iterator[list[Task]], count: int) -> list[list[int]]:
    return [[int(task.task_id) for task in next(data)] for _ in range(count)]


@given(seed=SEEDS, batch_size=st.integers(1, 5), batches=st.integers(1, 6), rest=st.integers(0, 4))
@settings(max_examples=50, deadline=None)
def test_no_task_comes_twice_in_an_epoch(seed: int, batch_size: int, batches: int, rest: int) -> None:
    count = batch_size * batches + min(rest, batch_size - 1)
    data = pipeline.batches(make_tasks(count), seed=seed, batch_size=batch_size)
    for _ in range(3):
        epoch = take(data, batches)
        assert all(len(batch) == batch_size for batch in epoch)
        assert len({task for batch in epoch for task in batch}) == batch_size * batches


def test_an_epoch_holds_every_task_once_where_batches_divide_them() -> None:
    data = pipeline.batches(make_tasks(12), seed=0, batch_size=4)
    for _ in range(5):
        assert sorted(chain(*take(data, 3))) == list(range(12))


def test_tasks_left_out_of_an_epoch_take_turns() -> None:
    seen = Counter(chain(*take(pipeline.batches(make_tasks(7), seed=0, batch_size=4), 700)))
    assert set(seen) == set(range(7))
    assert max(seen.values()) < 1.2 * min(seen.values())


def test_every_order_is_as_likely_as_any_other() -> None:
    seen = Counter(tuple(pipeline.order(3, seed=0, epoch=epoch)) for epoch in range(3000))
    assert len(seen) == 6
    assert all(abs(count - 500) < 5 * 500**0.5 for count in seen.values())


def test_an_order_is_the_same_in_every_version() -> None:
    assert pipeline.order(10, seed=7, epoch=2) == [8, 6, 4, 0, 5, 7, 1, 3, 9, 2]


def test_every_epoch_has_an_order_of_its_own() -> None:
    epochs = take(pipeline.batches(make_tasks(20), seed=3, batch_size=20), 10)
    assert len({tuple(epoch) for epoch in epochs}) == 10


def test_the_order_follows_from_the_seed() -> None:
    tasks = make_tasks(50)
    first, again, other = (take(pipeline.batches(tasks, seed=seed, batch_size=10), 10) for seed in (0, 0, 1))
    assert first == again
    assert first != other


def test_neighbouring_seeds_share_no_epoch() -> None:
    epochs = [take(pipeline.batches(make_tasks(30), seed=seed, batch_size=30), 20) for seed in range(5)]
    assert len({tuple(epoch) for run in epochs for epoch in run}) == 100


@given(seed=SEEDS, shard_count=st.integers(1, 4), batch_size=st.integers(1, 3), extra=st.integers(0, 20))
@settings(max_examples=30, deadline=None)
def test_shards_divide_what_one_process_would_have_drawn(
    seed: int, shard_count: int, batch_size: int, extra: int
) -> None:
    tasks = make_tasks(batch_size * shard_count + extra)
    whole = take(pipeline.batches(tasks, seed=seed, batch_size=batch_size * shard_count), 8)
    shards = [
        take(pipeline.batches(tasks, seed=seed, batch_size=batch_size, shard_index=i, shard_count=shard_count), 8)
        for i in range(shard_count)
    ]
    assert [[*chain(*parts)] for parts in zip(*shards, strict=True)] == whole


@given(seed=SEEDS, before=st.integers(0, 12), beyond=st.integers(0, 12))
@settings(max_examples=30, deadline=None)
def test_a_state_taken_anywhere_continues_exactly(seed: int, before: int, beyond: int) -> None:
    tasks = make_tasks(11)
    data = pipeline.batches(tasks, seed=seed, batch_size=3)
    take(data, before)
    state = data.get_state()
    expected = take(data, 10)

    fresh = pipeline.batches(tasks, seed=seed, batch_size=3)
    take(fresh, beyond)
    fresh.set_state(state)
    assert take(fresh, 10) == expected


@pytest.mark.parametrize("before", [0, 1, 5])
def test_an_orbax_checkpoint_brings_a_fresh_iterator_to_the_same_place(tmp_path: Path, before: int) -> None:
    tasks = make_tasks(10)
    data = pipeline.batches(tasks, seed=4, batch_size=3)
    take(data, before)
    with ocp.CheckpointManager(tmp_path / "checkpoints", item_names=("state", "data")) as manager:
        state = ocp.args.StandardSave({"w": np.ones(2, np.float32)})
        manager.save(1, args=ocp.args.Composite(state=state, data=grain.checkpoint.CheckpointSave(data)))
        expected = take(data, 8)

    fresh = pipeline.batches(tasks, seed=4, batch_size=3)
    with ocp.CheckpointManager(tmp_path / "checkpoints", item_names=("state", "data")) as manager:
        manager.restore(1, args=ocp.args.Composite(data=grain.checkpoint.CheckpointRestore(fresh)))
    assert take(fresh, 8) == expected


def test_the_fewest_tasks_that_fill_a_batch_are_enough() -> None:
    assert take(pipeline.batches(make_tasks(1), seed=0, batch_size=1), 3) == [[0], [0], [0]]
    assert sorted(take(pipeline.batches(make_tasks(4), seed=0, batch_size=4), 1)[0]) == [0, 1, 2, 3]


@pytest.mark.parametrize(("count", "batch_size", "shard_count"), [(0, 1, 1), (3, 4, 1), (7, 4, 2)])
def test_too_few_tasks_are_refused_with_both_numbers_and_both_keys(
    count: int, batch_size: int, shard_count: int
) -> None:
    with pytest.raises(UserError) as caught:
        pipeline.batches(make_tasks(count), seed=0, batch_size=batch_size, shard_count=shard_count)
    message = str(caught.value)
    assert f"{count} given, at least {batch_size * shard_count} needed" in message
    assert f"rollout.prompts_per_step = {batch_size}" in message
    assert "tasks.count" in message
    assert ("processes" in message) == (shard_count > 1)
