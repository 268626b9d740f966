"""The level order and what is derived from it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from jaxtyping import TypeCheckError

from murphy_jax.method.tree import RolloutTree, num_groups, turn_of_group, turn_slices, visited
from tests.method import reference
from tests.method.trees import Tree, trees


def test_the_worst_case_of_eight_members_is_8_72_584_nodes() -> None:
    assert [8 * num_groups(8, turns) for turns in (1, 2, 3)] == [8, 72, 584]


def test_a_chain_has_one_group_a_turn() -> None:
    assert num_groups(1, 5) == 5
    assert turn_of_group(1, 5).tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("group_size", [1, 2, 3, 8])
@pytest.mark.parametrize("num_turns", [1, 2, 3, 4])
def test_turns_partition_the_level_order(group_size: int, num_turns: int) -> None:
    groups = range(num_groups(group_size, num_turns))
    slices = turn_slices(group_size, num_turns)
    assert [group for turn in slices for group in groups[turn]] == list(groups)
    turns = [reference.turn_of(group * group_size, group_size) for group in groups]
    np.testing.assert_array_equal(turn_of_group(group_size, num_turns), turns)
    for turn, groups_of_turn in enumerate(slices, start=1):
        assert set(turn_of_group(group_size, num_turns)[groups_of_turn]) == {turn}


@given(trees())
def test_visited_is_what_a_walk_from_the_root_reaches(tree: Tree) -> None:
    found = np.asarray(jax.jit(visited)(jnp.asarray(tree.expanded)))
    for prompt, expanded in enumerate(tree.expanded):
        walk = reference.visited_groups(expanded.ravel().tolist(), group_size=tree.group_size)
        assert np.flatnonzero(found[prompt]).tolist() == walk


def test_an_expanded_node_in_an_unvisited_group_reaches_nothing() -> None:
    expanded = np.zeros((1, num_groups(2, 3), 2), bool)
    expanded[0, 1, 0] = True  # its parent, node 0, is not expanded
    assert np.flatnonzero(visited(jnp.asarray(expanded))[0]).tolist() == [0]


def test_a_number_of_groups_that_is_no_full_tree_is_refused() -> None:
    with pytest.raises(AssertionError, match="no tree"):
        visited(jnp.zeros((1, 4, 2), bool))


def test_an_array_of_the_wrong_type_is_refused() -> None:
    with pytest.raises(TypeCheckError):
        visited(jnp.zeros((1, 3, 2), jnp.float32))


def test_a_rollout_tree_is_a_pytree_through_jit_vmap_and_map() -> None:
    tree = RolloutTree(reward=jnp.ones((2, 3, 2)), expanded=jnp.zeros((2, 3, 2), bool))
    assert jax.tree.map(lambda x: x.shape, tree).reward == (2, 3, 2)
    assert jax.jit(lambda tree: tree.reward.sum())(tree) == 12
    assert jax.vmap(lambda tree: tree.reward.sum())(tree).tolist() == [6, 6]
