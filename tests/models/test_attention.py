"""The attention primitive against softmax over concatenated keys, one query at a time."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from murphy_jax.models.attention import KeyValue, attend, by_head, by_kv_head, by_token, causal

TOLERANCE = 2e-5
run = jax.jit(attend)


def reference(
    query: np.ndarray, own: tuple[np.ndarray, np.ndarray], shared: tuple[np.ndarray, np.ndarray], keep: np.ndarray
) -> np.ndarray:
    out = np.zeros_like(query)
    for b, k, g, t, r in np.ndindex(*query.shape[:-1]):
        keys = np.concatenate([shared[0][b, k][keep[b]], own[0][b, k, g, : t + 1]])
        values = np.concatenate([shared[1][b, k][keep[b]], own[1][b, k, g, : t + 1]])
        score = keys @ query[b, k, g, t, r] / np.sqrt(query.shape[-1])
        weight = np.exp(score - score.max())
        out[b, k, g, t, r] = weight @ values / weight.sum()
    return out


@settings(max_examples=20)
@given(seed=st.integers(0, 2**16), sharpness=st.sampled_from([0.1, 1.0, 30.0]))
def test_it_is_one_softmax_over_the_kept_keys_of_both_sets(seed: int, sharpness: float) -> None:
    rng = np.random.default_rng(seed)
    query = sharpness * rng.normal(size=(2, 2, 3, 4, 2, 6)).astype(np.float32)
    own = tuple(rng.normal(size=(2, 2, 3, 4, 6)).astype(np.float32) for _ in range(2))
    shared = tuple(rng.normal(size=(2, 2, 5, 6)).astype(np.float32) for _ in range(2))
    keep = rng.random((2, 5)) < 0.5
    got = run(
        jnp.asarray(query),
        KeyValue(key=jnp.asarray(own[0]), value=jnp.asarray(own[1])),
        causal(4),
        KeyValue(key=jnp.asarray(shared[0]), value=jnp.asarray(shared[1])),
        jnp.asarray(keep),
    )
    expected = reference(query, (own[0], own[1]), (shared[0], shared[1]), keep)
    np.testing.assert_allclose(got, expected, rtol=0, atol=TOLERANCE)


def test_masked_keys_weigh_exactly_nothing_even_when_they_are_huge() -> None:
    query = jnp.ones((1, 1, 1, 1, 1, 2))
    own = KeyValue(key=jnp.zeros((1, 1, 1, 1, 2)), value=jnp.full((1, 1, 1, 1, 2), 3.0))
    shared = KeyValue(key=jnp.full((1, 1, 4, 2), 1e30), value=jnp.full((1, 1, 4, 2), 1e30))
    np.testing.assert_array_equal(run(query, own, causal(1), shared, jnp.zeros((1, 4), bool)), 3.0 * query)


def test_heads_are_split_by_kv_head_and_joined_again() -> None:
    x = jnp.arange(2 * 6 * 4 * 3).reshape(2, 6, 4, 3)
    split = by_kv_head(x, num_kv_heads=2, group_size=3)
    assert split.shape == (2, 2, 3, 2, 2, 3)
    np.testing.assert_array_equal(split[1, 1, 2, 0, 1], x[1, 4, 3])
    np.testing.assert_array_equal(by_token(split), x.reshape(2, 6, 12))
    np.testing.assert_array_equal(by_head(x, group_size=3)[1, 3, 2, 0], x[1, 4, 3])
