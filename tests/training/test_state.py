"""Schedules and checkpoints."""

import gc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from murphy_jax import config
from murphy_jax.errors import UserError
from murphy_jax.models import Decoder, ModelConfig
from murphy_jax.tasks import pipeline
from murphy_jax.training.checkpoint import Checkpoints
from murphy_jax.training.state import TrainState, init_state, make_optimizer, make_schedule, num_updates
from tests.kit import task

SIZES = ModelConfig(
    vocab_size=11, hidden_size=8, intermediate_size=8, num_layers=1, num_heads=2, num_kv_heads=1, head_dim=4
)

# A restore that orbax gives up leaves tasks of a closed event loop behind, which are reported when they are collected.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """Collect what a test leaves behind while this module's filter holds."""
    yield
    gc.collect()


def state(seed: int, hidden_size: int = 8) -> TrainState:
    sizes = ModelConfig(**{**vars(SIZES), "hidden_size": hidden_size})
    params = nnx.split(Decoder(sizes, rngs=nnx.Rngs(seed), dtype="float32"))[1]
    return init_state(params, make_optimizer(config.Optimizer(), total_steps=10))


def data() -> Any:
    return pipeline.batches([task(str(i)) for i in range(10)], seed=0, batch_size=2)


def equal(left: TrainState, right: TrainState) -> bool:
    pairs = zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        ("constant", [0.0, 0.5, 1.0, 1.0, 1.0]),
        ("linear", [0.0, 0.5, 1.0, 0.5, 0.0]),
        ("cosine", [0.0, 0.5, 1.0, 0.5, 0.0]),
    ],
)
def test_the_learning_rate_warms_up_and_decays_to_the_end(schedule: Any, rates: list[float]) -> None:
    settings = config.Optimizer(learning_rate=1.0, schedule=schedule, warmup_steps=2)
    rate = make_schedule(settings, total_steps=10)
    np.testing.assert_allclose([float(rate(step)) for step in (0, 1, 2, 6, 10)], rates, atol=1e-6)


def test_a_checkpoint_brings_back_the_state_and_the_place_in_the_data(tmp_path: Path) -> None:
    saved, place = state(0), data()
    for _ in range(3):
        next(place)
    with Checkpoints(tmp_path, keep=1) as checkpoints:
        checkpoints.save(3, saved, place)
    expected = [t.task_id for t in next(place)]
    fresh = data()
    with Checkpoints(tmp_path, keep=1) as checkpoints:
        step, restored = checkpoints.restore(state(1), fresh)
    assert step == 3
    assert equal(restored, saved)
    assert [t.task_id for t in next(fresh)] == expected


def test_only_the_newest_checkpoints_are_kept(tmp_path: Path) -> None:
    with Checkpoints(tmp_path, keep=2) as checkpoints:
        for step in (1, 2, 3):
            checkpoints.save(step, state(step), data())
    assert sorted(int(path.name) for path in tmp_path.iterdir() if path.name.isdigit()) == [2, 3]


def test_a_checkpoint_of_another_model_is_refused_in_one_line(tmp_path: Path) -> None:
    with Checkpoints(tmp_path, keep=1) as checkpoints:
        checkpoints.save(1, state(0), data())
    with (
        Checkpoints(tmp_path, keep=1) as checkpoints,
        pytest.raises(UserError, match="Cannot restore step 1") as caught,
    ):
        checkpoints.restore(state(0, hidden_size=16), data())
    assert "\n" not in str(caught.value)


def test_resuming_without_a_checkpoint_says_so(tmp_path: Path) -> None:
    with Checkpoints(tmp_path, keep=1) as checkpoints, pytest.raises(UserError, match="holds no checkpoint"):
        checkpoints.restore(state(0), data())


def test_the_first_state_counts_no_step() -> None:
    assert state(0).step == jnp.zeros((), jnp.int32)


@pytest.mark.usefixtures("optax_promotes")
def test_updates_are_counted_by_the_optimizer() -> None:
    optimizer = make_optimizer(config.Optimizer(), total_steps=10)
    first = state(0)
    _, opt_state = optimizer.update(first.params, first.opt_state, first.params)
    assert num_updates(first) == 0
    assert num_updates(replace(first, opt_state=opt_state)) == 1
