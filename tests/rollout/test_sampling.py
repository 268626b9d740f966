"""Sampling: frequencies, filters, log-probabilities."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from murphy_jax.rollout.sampling import Draw, SamplingParams, draw, keep

LOGITS = jnp.array([2.0, 1.0, 0.5, 0.0, -1.0, -3.0], jnp.float32)


def params(rows: int, *, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0) -> SamplingParams:
    return SamplingParams(
        temperature=jnp.full(rows, temperature, jnp.float32),
        top_k=jnp.full(rows, top_k, jnp.int32),
        top_p=jnp.full(rows, top_p, jnp.float32),
    )


def draw_rows(settings: SamplingParams, seed: int = 0) -> Draw:
    rows = len(settings.temperature)
    return jax.jit(draw)(jax.random.split(jax.random.key(seed), rows), jnp.tile(LOGITS, (rows, 1)), settings)


def exact(*, temperature: float, top_k: int, top_p: float) -> np.ndarray:
    """The distribution by definition, in float64 and one token at a time."""
    scaled = np.asarray(LOGITS, np.float64) / temperature
    probability = np.exp(scaled) / np.exp(scaled).sum()
    order = np.argsort(-probability)
    kept, mass = np.zeros(len(scaled)), 0.0
    for rank, token in enumerate(order):
        if (top_k and rank >= top_k) or (rank and mass >= top_p):
            break
        kept[token] = probability[token]
        mass += probability[token]
    return kept / kept.sum()


@pytest.mark.parametrize(
    ("temperature", "top_k", "top_p"), [(1.0, 0, 1.0), (0.7, 0, 1.0), (1.0, 3, 1.0), (1.0, 0, 0.8), (1.5, 4, 0.9)]
)
def test_sampled_frequencies_follow_the_exact_distribution(temperature: float, top_k: int, top_p: float) -> None:
    rows = 20_000
    drawn = draw_rows(params(rows, temperature=temperature, top_k=top_k, top_p=top_p))
    expected = exact(temperature=temperature, top_k=top_k, top_p=top_p)
    counts = np.bincount(np.asarray(drawn.token), minlength=len(expected))
    assert (counts[expected == 0] == 0).all()
    inside = expected > 0
    chi_square = ((counts[inside] - rows * expected[inside]) ** 2 / (rows * expected[inside])).sum()
    assert chi_square < 25.0  # 5 degrees of freedom at most: p = 1e-4
    np.testing.assert_allclose(drawn.behaviour_log_prob, np.log(expected[np.asarray(drawn.token)]), atol=1e-5)
    np.testing.assert_allclose(
        drawn.log_prob, np.asarray(jax.nn.log_softmax(LOGITS))[np.asarray(drawn.token)], atol=1e-5
    )


def test_temperature_zero_is_greedy_and_certain() -> None:
    drawn = draw_rows(params(4, temperature=0.0))
    assert (np.asarray(drawn.token) == 0).all()
    assert (np.asarray(drawn.behaviour_log_prob) == 0).all()


def test_a_row_does_not_depend_on_its_batch_mates() -> None:
    alone = draw_rows(params(8))
    mixed = params(8)
    mixed = SamplingParams(
        temperature=mixed.temperature, top_k=mixed.top_k.at[::2].set(2), top_p=mixed.top_p.at[::2].set(0.5)
    )
    np.testing.assert_array_equal(alone.token[1::2], draw_rows(mixed).token[1::2])


def test_the_most_likely_token_survives_the_strictest_filter() -> None:
    kept = keep(LOGITS[None], top_k=jnp.array([1], jnp.int32), top_p=jnp.array([1e-6], jnp.float32))
    np.testing.assert_array_equal(kept, [[True, False, False, False, False, False]])
