"""Credit against the node-by-node reference, and what METHOD.md says follows from it."""

from collections.abc import Callable
from functools import partial
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import TypeCheckError

from murphy_jax.method import credit
from murphy_jax.method.tree import num_groups
from tests.method import reference
from tests.method.reference import Reading
from tests.method.trees import FEW, Tree, trees

TOLERANCE = 1e-6
READINGS: tuple[Reading, ...] = ("each", "end", "none")

# Compiled once a shape: property tests would spend their time on dispatch.
mars = jax.jit(credit.mars, static_argnames=("num_turns",))
mers = jax.jit(credit.mers, static_argnames=("num_turns", "normalise"))
RULES: tuple[Callable[..., jax.Array], ...] = (mars, *(partial(mers, normalise=reading) for reading in READINGS))


def by_reference(rule: Any, tree: Tree, **settings: Any) -> np.ndarray:
    flat = [
        rule(reward.ravel().tolist(), expanded.ravel().tolist(), group_size=tree.group_size, **settings)
        for reward, expanded in zip(tree.reward, tree.expanded, strict=True)
    ]
    return np.asarray(flat).reshape(tree.reward.shape)


@given(trees(), st.sampled_from([0.0, 0.5, 0.9, 1.0]))
def test_mars_equals_the_recursion(tree: Tree, discount: float) -> None:
    expected = by_reference(reference.mars, tree, discount=discount)
    found = mars(*tree.arrays, num_turns=tree.num_turns, discount=discount)
    np.testing.assert_allclose(found, expected, rtol=TOLERANCE, atol=TOLERANCE)


@given(trees(), st.sampled_from([0.0, 0.5, 0.9, 1.0]), st.sampled_from(READINGS))
def test_mers_equals_the_recursion(tree: Tree, discount: float, normalise: Reading) -> None:
    settings: dict[str, Any] = {"num_turns": tree.num_turns, "discount": discount, "normalise": normalise}
    expected = by_reference(reference.mers, tree, **settings)
    found = mers(*tree.arrays, **settings)
    np.testing.assert_allclose(found, expected, rtol=TOLERANCE, atol=TOLERANCE)


@given(trees(FEW))
def test_mars_without_discount_is_never_below_the_reward(tree: Tree) -> None:
    found = np.asarray(mars(*tree.arrays, num_turns=tree.num_turns))
    assert (found >= tree.reward)[tree.visited].all()


@given(trees(FEW))
def test_a_leaf_keeps_its_reward_under_every_rule(tree: Tree) -> None:
    leaf = tree.visited[..., None] & ~tree.expanded
    for rule in RULES:
        found = np.asarray(rule(*tree.arrays, num_turns=tree.num_turns))
        np.testing.assert_array_equal(found[leaf], tree.reward[leaf])


@given(trees(FEW))
def test_groups_that_were_not_sampled_have_no_credit(tree: Tree) -> None:
    for rule in RULES:
        found = np.asarray(rule(*tree.arrays, num_turns=tree.num_turns))
        assert (found[~tree.visited] == 0).all()


@given(trees(tuple((size, 2) for size in range(1, 5))))
def test_dividing_at_each_turn_or_at_the_end_is_the_same_for_two_turns(tree: Tree) -> None:
    each, end = (mers(*tree.arrays, num_turns=2, normalise=reading) for reading in ("each", "end"))
    np.testing.assert_allclose(each, end, rtol=TOLERANCE)


@given(trees(tuple((size, 1) for size in range(1, 5))))
def test_with_one_turn_the_credit_is_the_reward(tree: Tree) -> None:
    for found in (mars(*tree.arrays, num_turns=1), mers(*tree.arrays, num_turns=1)):
        np.testing.assert_array_equal(found, tree.reward)


@pytest.mark.parametrize(
    ("normalise", "first", "second"),
    [
        # J(2) = 0.5 + 0.9 * 1 = 1.4, J(1) = 0.2 + 0.9 * J(2)
        ("none", 0.2 + 0.9 * 1.4, 1.4),
        ("end", (0.2 + 0.9 * 1.4) / 3, 1.4 / 2),
        ("each", (0.2 + 0.9 * 1.4 / 2) / 3, 1.4 / 2),
    ],
)
def test_the_three_readings_of_a_chain_that_is_solved_at_its_third_turn(
    normalise: Reading, first: float, second: float
) -> None:
    reward, expanded = jnp.array([[[0.2], [0.5], [1.0]]]), jnp.array([[[True], [True], [False]]])
    found = credit.mers(reward, expanded, num_turns=3, discount=0.9, normalise=normalise)
    np.testing.assert_allclose(found.ravel(), [first, second, 1.0], rtol=TOLERANCE)


def test_a_solution_at_the_last_turn_reaches_the_first_attempt_discounted_once_a_turn() -> None:
    reward, expanded = np.zeros((1, num_groups(2, 3), 2), np.float32), np.zeros((1, num_groups(2, 3), 2), bool)
    reward[0, 6, 1] = 1.0  # node 13, a child of node 5, a child of node 1
    expanded[0, 0, 1] = expanded[0, 2, 1] = True
    found = np.asarray(credit.mars(jnp.asarray(reward), jnp.asarray(expanded), num_turns=3, discount=0.5)).ravel()
    assert {node: found[node] for node in np.flatnonzero(found)} == {1: 0.25, 5: 0.5, 13: 1.0}


def test_a_tree_of_another_depth_than_num_turns_is_refused() -> None:
    reward = jnp.zeros((1, 3, 2))
    with pytest.raises(AssertionError, match="no tree of 3 turns"):
        credit.mars(reward, jnp.zeros((1, 3, 2), bool), num_turns=3)


def test_an_unknown_reading_is_refused() -> None:
    unknown: Any = "last"
    with pytest.raises(TypeCheckError):
        credit.mers(jnp.zeros((1, 3, 2)), jnp.zeros((1, 3, 2), bool), num_turns=2, normalise=unknown)


def test_shapes_that_disagree_are_refused() -> None:
    with pytest.raises(TypeCheckError):
        credit.mars(jnp.zeros((1, 3, 2)), jnp.zeros((2, 3, 2), bool), num_turns=2)


def test_a_discount_that_changes_does_not_compile_again() -> None:
    @chex.assert_max_traces(n=1)
    def two_turns(reward: jax.Array, expanded: jax.Array, discount: float) -> jax.Array:
        return credit.mars(reward, expanded, num_turns=2, discount=discount)

    traced = jax.jit(two_turns)
    for discount in (0.5, 0.9, 1.0):
        traced(jnp.full((4, 3, 2), discount), jnp.zeros((4, 3, 2), bool), discount)


class TestVariants(chex.TestCase):
    """Compiled or not, on the device or from the host, the numbers are the same."""

    @chex.variants(with_jit=True, without_jit=True, with_device=True)
    def test_every_variant_gives_the_hand_computed_credit(self) -> None:
        reward, expanded = jnp.array([[[0.5], [1.0]]]), jnp.array([[[True], [False]]])
        for rule, expected in ((credit.mars, 1.0), (partial(credit.mers, discount=1.0), 0.75)):
            found = self.variant(partial(rule, num_turns=2))(reward, expanded)
            np.testing.assert_array_equal(found, [[[expected], [1.0]]])

    def test_vmap_over_batches_of_prompts_equals_one_batch(self) -> None:
        rng = np.random.default_rng(0)
        reward = jnp.asarray(rng.random((3, 4, 7, 2)), jnp.float32)
        expanded = jnp.asarray(rng.random((3, 4, 7, 2)) < 0.5)
        for rule in (partial(credit.mars, num_turns=3), partial(credit.mers, num_turns=3)):
            flat = rule(reward.reshape(12, 7, 2), expanded.reshape(12, 7, 2))
            np.testing.assert_array_equal(jax.vmap(rule)(reward, expanded).reshape(12, 7, 2), flat)
