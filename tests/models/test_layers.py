"""The parts of a layer against their equations, by hand and by property."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from hypothesis import given
from hypothesis import strategies as st

from murphy_jax.models.layers import GatedMLP, Linear, RMSNorm, rotate, rotation

TOLERANCE = 1e-5


def test_the_norm_divides_by_the_root_of_the_mean_square_and_multiplies_by_the_weight() -> None:
    norm = RMSNorm(2, eps=0.0)
    norm.weight[...] = jnp.asarray([1.0, 10.0])
    np.testing.assert_allclose(norm(jnp.asarray([[3.0, 4.0]])), [[3 / 12.5**0.5, 40 / 12.5**0.5]], rtol=TOLERANCE)


def test_the_norm_of_zero_is_zero_and_eps_keeps_it_finite() -> None:
    np.testing.assert_array_equal(RMSNorm(3, eps=1e-6)(jnp.zeros((1, 3))), jnp.zeros((1, 3)))


def test_the_norm_is_computed_in_float32_and_rounded_before_the_weight() -> None:
    norm = RMSNorm(64, eps=1e-6)
    norm.weight[...] = jnp.linspace(0.5, 1.5, 64)
    x = jnp.asarray(np.random.default_rng(0).normal(size=(5, 64)), jnp.bfloat16)
    exact = np.asarray(x, np.float32)
    normed = exact / np.sqrt(np.mean(exact**2, axis=-1, keepdims=True) + 1e-6)
    expected = jnp.asarray(normed).astype(jnp.bfloat16) * norm.weight[...].astype(jnp.bfloat16)[None]
    got = norm(x)
    assert got.dtype == jnp.bfloat16
    np.testing.assert_array_equal(np.asarray(got, np.float32), np.asarray(expected, np.float32))


def test_a_linear_map_keeps_leading_axes_and_casts_its_kernel() -> None:
    linear = Linear(3, 2, scale=1.0, rngs=nnx.Rngs(0))
    x = jnp.asarray(np.random.default_rng(0).normal(size=(2, 4, 5, 3)), jnp.float32)
    np.testing.assert_allclose(linear(x), np.asarray(x) @ np.asarray(linear.kernel[...]), atol=TOLERANCE)
    assert linear(x.astype(jnp.bfloat16)).dtype == jnp.bfloat16
    assert linear.kernel[...].dtype == jnp.float32


def test_the_mlp_gates_with_silu() -> None:
    mlp = GatedMLP(1, 1, scale=1.0, rngs=nnx.Rngs(0))
    for part, value in ((mlp.gate, 2.0), (mlp.up, 3.0), (mlp.down, 5.0)):
        part.kernel[...] = jnp.full((1, 1), value)
    np.testing.assert_allclose(mlp(jnp.ones((1, 1))), [[5 * 3 * 2 / (1 + np.exp(-2.0))]], rtol=TOLERANCE)


def test_a_quarter_turn_swaps_the_halves_of_a_head() -> None:
    head = jnp.asarray([1.0, 2.0, 3.0, 4.0]).reshape(1, 1, 1, 4)
    zero, one = jnp.zeros((1, 1, 1, 2)), jnp.ones((1, 1, 1, 2))
    np.testing.assert_array_equal(rotate(head, zero, one).ravel(), [-3.0, -4.0, 1.0, 2.0])
    np.testing.assert_array_equal(rotate(head, one, zero), head)


def test_frequencies_fall_from_one_to_nearly_one_over_theta() -> None:
    cosine, sine = rotation(jnp.asarray([[3]]), head_dim=4, theta=100.0, dtype=jnp.float32)
    np.testing.assert_allclose(cosine.ravel(), np.cos([3.0, 0.3]), atol=TOLERANCE)
    np.testing.assert_allclose(sine.ravel(), np.sin([3.0, 0.3]), atol=TOLERANCE)


turn = jax.jit(lambda x, at: rotate(x, *rotation(at, head_dim=8, theta=50.0, dtype=jnp.float32)))


@given(first=st.integers(0, 60), second=st.integers(0, 60), shift=st.integers(0, 60), seed=st.integers(0, 99))
def test_a_score_depends_on_the_distance_of_two_positions_alone(first: int, second: int, shift: int, seed: int) -> None:
    query, key = jnp.asarray(np.random.default_rng(seed).normal(size=(2, 1, 1, 1, 8)), jnp.float32)

    def score(query_at: int, key_at: int) -> float:
        turned = turn(query, jnp.asarray([[query_at]])), turn(key, jnp.asarray([[key_at]]))
        return float(np.sum(np.asarray(turned[0]) * np.asarray(turned[1])))

    np.testing.assert_allclose(score(first + shift, second + shift), score(first, second), atol=1e-3)
