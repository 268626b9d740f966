"""InterP and IntraP against exhaustive search in exact arithmetic."""

from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murphy_jax.method import pruning
from tests.method import reference
from tests.method.trees import FEW, Tree, trees

keep_groups = jax.jit(pruning.keep_groups, static_argnames=("budget",))
keep_members = jax.jit(pruning.keep_members, static_argnames=("budget",))


def credit_and_visited(tree: Tree) -> tuple[jax.Array, jax.Array]:
    """The reward stands in for credit, as its exact ties are many."""
    return jnp.asarray(np.nan_to_num(tree.reward)), jnp.asarray(tree.visited)


def ratios(credit: np.ndarray) -> list[Fraction]:
    return [reference.ratio(value) for value in credit]


@given(trees(((1, 3), (2, 3), (3, 3), (4, 2))), st.sampled_from([0, 1, 2, 5]))
def test_the_groups_kept_are_the_first_of_an_exact_ranking(tree: Tree, budget: int) -> None:
    credit, visited = credit_and_visited(tree)
    found = np.asarray(keep_groups(credit, visited, budget=budget))
    for prompt, kept in enumerate(found):
        sampled = np.flatnonzero(tree.visited[prompt]).tolist()
        groups = [ratios(group) for group in np.asarray(credit[prompt])]
        assert set(np.flatnonzero(kept).tolist()) == reference.keep_groups(groups, sampled, budget=budget)


@given(trees(((2, 3), (3, 3), (4, 2))), st.integers(1, 4))
def test_the_members_kept_have_the_largest_variance_of_all_subsets(tree: Tree, budget: int) -> None:
    credit, visited = credit_and_visited(tree)
    found = np.asarray(keep_members(credit, visited, budget=budget))
    assert not found[~tree.visited].any()
    assert found[:, 0].all()
    for place in ((prompt, group) for prompt, group in np.argwhere(tree.visited) if group > 0):
        members, kept = ratios(tree.reward[place]), ratios(tree.reward[place][found[place]])
        assert len(kept) == min(budget, tree.group_size)
        assert reference.variance(kept) == reference.largest_variance(members, budget=len(kept))


@pytest.mark.parametrize("budget", range(1, 8))
def test_the_variance_is_the_largest_for_eight_members_of_any_credit(budget: int) -> None:
    credit = np.random.default_rng(budget).random((1, 9, 8), np.float32)
    found = np.asarray(keep_members(jnp.asarray(credit), jnp.ones((1, 9), bool), budget=budget))
    for group in range(1, 9):
        members = [Fraction(float(value)) for value in credit[0, group]]
        kept = [value for value, keep in zip(members, found[0, group], strict=True) if keep]
        assert len(kept) == budget
        best = float(reference.largest_variance(members, budget=budget))
        assert best**0.5 - float(reference.variance(kept)) ** 0.5 <= pruning.RESOLUTION


@given(trees(FEW), st.sampled_from([None, 10**6]))
def test_a_budget_of_all_keeps_every_sampled_node(tree: Tree, budget: int | None) -> None:
    credit, visited = credit_and_visited(tree)
    np.testing.assert_array_equal(keep_groups(credit, visited, budget=budget), visited)
    members = np.asarray(keep_members(credit, visited, budget=budget))
    np.testing.assert_array_equal(members, np.broadcast_to(tree.visited[..., None], members.shape))


def test_equal_spreads_keep_the_first_groups_though_float_sums_differ() -> None:
    # A third of the members solved, or two thirds: the spread is one number, and float32 gives several.
    patterns = [[1, 0, 0], [0, 1, 1], [0, 0, 1], [1, 1, 0], [0, 1, 0], [1, 0, 1]]
    for seed in range(6):
        order = np.random.default_rng(seed).permutation(len(patterns))
        groups = np.asarray([[0, 0, 0], *(patterns[i] for i in order)], np.float32)
        kept = pruning.keep_groups(jnp.asarray(groups[None] / 3), jnp.ones((1, 7), bool), budget=3)
        assert np.flatnonzero(kept[0]).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("credit", "budget", "kept"),
    [
        ([0, 0, 1, 1], 3, [1, 2, 3]),  # two solved and a failed, or the reverse: the solved ones
        ([0.5, 0.5, 0.5, 0.5], 2, [2, 3]),
        ([0.2, 0.9, 0.1, 0.3], 1, [1]),
        ([0.0, 0.4, 0.6, 1.0], 2, [0, 3]),
    ],
)
def test_ties_between_members_are_decided_one_way(credit: list[float], budget: int, kept: list[int]) -> None:
    groups = jnp.asarray([[[0.0] * 4, credit]], jnp.float32)
    found = pruning.keep_members(groups, jnp.ones((1, 2), bool), budget=budget)
    assert np.flatnonzero(found[0, 1]).tolist() == kept


@pytest.mark.parametrize("keep", [pruning.keep_groups, pruning.keep_members])
def test_a_tree_of_one_turn_is_kept_whole(keep: Any) -> None:
    credit = jnp.arange(8, dtype=jnp.float32).reshape(2, 1, 4)
    assert keep(credit, jnp.ones((2, 1), bool), budget=1).all()


def test_a_chain_is_kept_whole_by_any_budget_of_members() -> None:
    credit, visited = jnp.ones((1, 3, 1)), jnp.array([[True, True, False]])
    assert pruning.keep_members(credit, visited, budget=1).tolist() == [[[True], [True], [False]]]


def test_groups_that_were_not_sampled_are_never_kept_instead() -> None:
    credit = jnp.zeros((1, 5, 4)).at[0, 1].set(jnp.array([0.0, 1.0, 0.0, 1.0]))
    visited = jnp.array([[True, False, True, True, False]])
    assert pruning.keep_groups(credit, visited, budget=3).tolist() == [[True, False, True, True, False]]
