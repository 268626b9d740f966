"""The token objective against a token-by-token one, and its weights."""

from functools import partial
from math import exp
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import TypeCheckError

from murphy_jax.method import objective

TOLERANCE = 1e-5
SHAPE = (2, 3, 5)
GARBAGE = (0.0, 1e30, -1e30, np.inf, -np.inf, np.nan)

policy_loss = jax.jit(objective.policy_loss)


@partial(jax.jit, static_argnames=("max_length", "aggregate"))
def token_weights(lengths: jax.Array, live: jax.Array, max_length: int, *, aggregate: Any) -> jax.Array:
    weight = objective.member_weights(lengths, live, aggregate=aggregate)
    return objective.token_weights(weight, lengths, max_length)


grad = jax.jit(jax.grad(objective.policy_loss, has_aux=True))


def random_batch(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    new = rng.normal(-1.0, 0.5, SHAPE)
    lengths = rng.integers(0, SHAPE[-1] + 1, SHAPE[:-1])
    inside = np.arange(SHAPE[-1]) < lengths[..., None]
    batch = {
        "log_probs": new,
        "old_log_probs": new + rng.normal(0.0, 0.4, SHAPE),
        "advantage": rng.normal(0.0, 1.0, SHAPE[:-1]),
        "weight": inside * rng.random(SHAPE),
        "reference_log_probs": new + rng.normal(0.0, 0.4, SHAPE),
    }
    return {name: value.astype(np.float32) for name, value in batch.items()}


def arrays(batch: dict[str, np.ndarray]) -> dict[str, jax.Array]:
    return {name: jnp.asarray(value) for name, value in batch.items()}


def token_by_token(batch: dict[str, np.ndarray], *, low: float, high: float, beta: float) -> dict[str, float]:
    """The definition, a token at a time."""
    sums = {"loss": 0.0, "clip_share": 0.0, "kl": 0.0, "ratio": 0.0}
    for place in np.ndindex(SHAPE):
        weight, gain = float(batch["weight"][place]), float(batch["advantage"][place[:-1]])
        new, old, ref = (float(batch[name][place]) for name in ("log_probs", "old_log_probs", "reference_log_probs"))
        ratio, k3 = exp(new - old), exp(ref - new) - (ref - new) - 1
        bounded = min(max(ratio, 1 - low), 1 + high)
        sums["loss"] -= weight * (min(ratio * gain, bounded * gain) - beta * k3)
        sums["clip_share"] += weight * (bounded * gain < ratio * gain)
        sums["kl"] += weight * k3
        sums["ratio"] += weight * ratio
    return sums


@given(st.integers(0, 2**32 - 1), st.sampled_from([(0.2, 0.2), (0.2, 0.28), (0.1, 0.5)]), st.sampled_from([0.0, 0.5]))
def test_the_loss_is_its_definition_token_by_token(seed: int, clip: tuple[float, float], beta: float) -> None:
    batch = random_batch(seed)
    loss, sums = policy_loss(**arrays(batch), clip_low=clip[0], clip_high=clip[1], kl_coefficient=beta)
    expected = token_by_token(batch, low=clip[0], high=clip[1], beta=beta)
    found = {"loss": float(loss), **{name: float(value) for name, value in sums.items()}}
    assert found == pytest.approx(expected, rel=TOLERANCE, abs=TOLERANCE)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.5]))
def test_the_gradient_is_the_one_derived_by_hand(seed: int, beta: float) -> None:
    batch = random_batch(seed)
    new, old, ref = (batch[name] for name in ("log_probs", "old_log_probs", "reference_log_probs"))
    ratio, gain = np.exp(new - old), batch["advantage"][..., None]
    bound = np.where(gain > 0, ratio > 1.2, ratio < 0.8)
    expected = -batch["weight"] * (np.where(bound, 0, ratio * gain) - beta * (1 - np.exp(ref - new)))
    np.testing.assert_allclose(gradient(arrays(batch), beta), expected, rtol=TOLERANCE, atol=TOLERANCE)


def test_on_the_sampling_policy_the_gradient_is_the_policy_gradient() -> None:
    batch = random_batch(0)
    batch["old_log_probs"] = batch["log_probs"]
    expected = -batch["weight"] * batch["advantage"][..., None]
    np.testing.assert_allclose(gradient(arrays(batch), 0.0), expected, rtol=TOLERANCE)


@pytest.mark.parametrize("garbage", GARBAGE)
@pytest.mark.parametrize("beta", [0.0, 0.5])
def test_what_stands_where_the_weight_is_zero_changes_neither_loss_nor_gradient(garbage: float, beta: float) -> None:
    clean = random_batch(1)
    clean["weight"][0, 1] = 0.0
    masked = clean["weight"] == 0
    dirty = {name: value.copy() for name, value in clean.items()}
    for name in ("log_probs", "old_log_probs", "reference_log_probs"):
        dirty[name][masked] = garbage
    dirty["advantage"][masked.all(axis=-1)] = garbage
    expected, found = (policy_loss(**arrays(batch), kl_coefficient=beta) for batch in (clean, dirty))
    chex.assert_trees_all_equal(found, expected)
    np.testing.assert_array_equal(gradient(arrays(dirty), beta), gradient(arrays(clean), beta))


def test_micro_batches_add_up_to_the_batch() -> None:
    batch = arrays(random_batch(2))
    whole = policy_loss(**batch, kl_coefficient=0.1)
    parts = [policy_loss(**{name: x[row] for name, x in batch.items()}, kl_coefficient=0.1) for row in range(2)]
    chex.assert_trees_all_close(jax.tree.map(jnp.add, *parts), whole, rtol=TOLERANCE)


def test_only_the_log_probs_have_a_gradient() -> None:
    batch = arrays(random_batch(3))
    names = ("old_log_probs", "reference_log_probs", "advantage")
    gradients = jax.grad(lambda x: policy_loss(**{**batch, **x}, kl_coefficient=0.5)[0])({n: batch[n] for n in names})
    assert all((x == 0).all() for x in jax.tree.leaves(gradients))


def test_k3_is_zero_at_the_reference_and_positive_elsewhere() -> None:
    batch = arrays(random_batch(4))
    assert policy_loss(**batch)[1]["kl"] > 0
    assert policy_loss(**{**batch, "reference_log_probs": batch["log_probs"]})[1]["kl"] == 0


def test_a_kl_term_without_a_reference_is_refused() -> None:
    batch = arrays(random_batch(5))
    del batch["reference_log_probs"]
    for coefficient in (0.1, jnp.float32(0.1)):
        with pytest.raises(AssertionError, match="needs a reference"):
            objective.policy_loss(**batch, kl_coefficient=coefficient)
    assert objective.policy_loss(**batch)[1]["kl"] == 0


def test_coefficients_that_change_do_not_compile_again() -> None:
    loss = jax.jit(chex.assert_max_traces(objective.policy_loss, n=1))
    for seed, clip in enumerate((0.1, 0.2, 0.3)):
        loss(**arrays(random_batch(seed)), clip_low=clip, clip_high=clip, kl_coefficient=clip)


@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=5, max_size=5))
def test_token_weights_make_a_mean_over_tokens_or_over_sequences(members: list[tuple[int, bool]]) -> None:
    lengths, live = (np.asarray(column) for column in zip(*members, strict=True))
    values = np.random.default_rng(0).random((len(members), 6))
    trained = [values[row, :length] for row, (length, alive) in enumerate(members) if alive and length]
    token = np.asarray(token_weights(lengths, live, 6, aggregate="token"))
    sequence = np.asarray(token_weights(lengths, live, 6, aggregate="sequence"))
    if not trained:
        assert not token.any()
        assert not sequence.any()
        return
    assert np.sum(token * values) == pytest.approx(np.concatenate(trained).mean(), rel=TOLERANCE)
    assert np.sum(sequence * values) == pytest.approx(np.mean([row.mean() for row in trained]), rel=TOLERANCE)


@pytest.mark.parametrize("aggregate", ["token", "sequence"])
def test_a_live_member_has_weight_on_exactly_its_tokens_whatever_the_leading_axes(aggregate: Any) -> None:
    lengths, live = jnp.array([[[3, 0], [1, 4]]]), jnp.array([[[True, True], [False, True]]])
    weight = np.asarray(token_weights(lengths, live, 4, aggregate=aggregate))
    expected = [[[[1, 1, 1, 0], [0, 0, 0, 0]], [[0, 0, 0, 0], [1, 1, 1, 1]]]]
    np.testing.assert_array_equal(weight > 0, np.asarray(expected, bool))
    assert weight.sum() == pytest.approx(1.0)


def test_an_unknown_aggregate_is_refused() -> None:
    unknown: Any = "row"
    with pytest.raises(TypeCheckError):
        objective.member_weights(jnp.array([1]), jnp.array([True]), aggregate=unknown)


def gradient(batch: dict[str, jax.Array], beta: float) -> np.ndarray:
    rest = {name: value for name, value in batch.items() if name != "log_probs"}
    return np.asarray(grad(batch["log_probs"], **rest, kl_coefficient=beta)[0])
