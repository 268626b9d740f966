"""Advantages within sibling groups: baselines, scales, dead groups."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import TypeCheckError

from murphy_jax.method import advantage

TOLERANCE = 1e-5
SCALES = ("std", "none", "leave-one-out")
SHAPE = (2, 3, 4)

group_advantage = jax.jit(advantage.group_advantage, static_argnames=("scale",))
live = jax.jit(advantage.live)


@st.composite
def kept_credits(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Credits k / 3 with many equal groups, any subset kept, NaN where nothing is."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    credit = (rng.integers(0, draw(st.integers(1, 4)), SHAPE) / 3).astype(np.float32)
    keep = rng.random(SHAPE) < draw(st.sampled_from([0.3, 0.7, 1.0]))
    return np.where(keep, credit, np.nan).astype(np.float32), keep


def one_group(credit: np.ndarray, keep: np.ndarray, scale: str) -> np.ndarray:
    """The definition, member by member."""
    kept = [float(value) for value in credit[keep]]
    expected = np.zeros(len(credit))
    if len(set(kept)) < 2:
        return expected
    for member in np.flatnonzero(keep):
        own = float(credit[member])
        others = kept.copy()
        others.remove(own)
        match scale:
            case "std":
                expected[member] = (own - np.mean(kept)) / (np.std(kept) + 1e-6)
            case "none":
                expected[member] = own - np.mean(kept)
            case "leave-one-out":
                expected[member] = own - np.mean(others)
    return expected


@given(kept_credits(), st.sampled_from(SCALES))
def test_the_advantage_is_its_definition_on_the_kept_members(arrays: tuple[np.ndarray, np.ndarray], scale: str) -> None:
    credit, keep = arrays
    found = np.asarray(group_advantage(jnp.asarray(credit), jnp.asarray(keep), scale=scale))
    for place in np.ndindex(SHAPE[:2]):
        np.testing.assert_allclose(found[place], one_group(credit[place], keep[place], scale), atol=TOLERANCE)


@given(kept_credits(), st.sampled_from(SCALES))
def test_live_members_have_an_advantage_and_all_others_exactly_none(
    arrays: tuple[np.ndarray, np.ndarray], scale: str
) -> None:
    credit, keep = map(jnp.asarray, arrays)
    alive, found = np.asarray(live(credit, keep)), np.asarray(group_advantage(credit, keep, scale=scale))
    assert (found[~alive] == 0).all()
    for place in np.ndindex(SHAPE[:2]):
        values = arrays[0][place][arrays[1][place]]
        np.testing.assert_array_equal(alive[place], arrays[1][place] & (len(np.unique(values)) > 1))
        assert abs(found[place].sum()) < TOLERANCE


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, 0.7, 1.9])
def test_a_group_of_equal_credit_has_exactly_zero_advantage(scale: Any, value: float) -> None:
    # The float32 mean of n equal numbers need not be that number: without the dead-group rule, noise over noise.
    credit, keep = jnp.full((1, 1, 7), value), jnp.ones((1, 1, 7), bool)
    assert (advantage.group_advantage(credit, keep, scale=scale, epsilon=0.0) == 0).all()


def test_credit_that_differs_by_rounding_alone_is_equal() -> None:
    credit = jnp.array([[[0.9, 0.9 + 1e-7, 0.9 - 1e-7], [0.9, 0.9 + 1e-4, 0.9]]])
    assert advantage.live(credit, jnp.ones((1, 2, 3), bool)).any(axis=-1).tolist() == [[False, True]]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("num_kept", [0, 1])
def test_fewer_than_two_kept_members_teach_nothing(scale: Any, num_kept: int) -> None:
    credit, keep = jnp.array([[[0.0, 1.0, 0.5]]]), jnp.arange(3)[None, None] < num_kept
    assert (advantage.group_advantage(credit, keep, scale=scale) == 0).all()
    assert not advantage.live(credit, keep).any()


def test_a_chain_has_no_advantages() -> None:
    credit, keep = jnp.array([[[0.5], [1.0]]]), jnp.ones((1, 2, 1), bool)
    assert (advantage.group_advantage(credit, keep) == 0).all()


def test_epsilon_shrinks_the_advantage() -> None:
    credit, keep = jnp.array([[[0.0, 1.0]]]), jnp.ones((1, 1, 2), bool)
    assert advantage.group_advantage(credit, keep, epsilon=0.5).tolist() == [[[-0.5, 0.5]]]


def test_an_unknown_scale_is_refused() -> None:
    unknown: Any = "max"
    with pytest.raises(TypeCheckError):
        advantage.group_advantage(jnp.zeros((1, 1, 2)), jnp.ones((1, 1, 2), bool), scale=unknown)
