"""The rollout tree of a prompt, without pointers: sibling groups in level order.

Axis letters, here and in every annotation of this package:

    P  prompts                                          G  members of a sibling group
    M  sibling groups of a tree, 1 + G + .. + G^(S-1)   S  turns, counted from 1
    T  completion tokens of a member, padded            N  any leading axes

Node n is member n % G of group n // G; group m >= 1 hangs from node m - 1. So the children of node n are group n + 1,
and with G = 2, S = 3 the nodes of the groups are

    turn 1   group  0          nodes  0 1
    turn 2   groups 1 2        nodes  2 3 | 4 5
    turn 3   groups 3 4 5 6    nodes  6 7 | 8 9 | 10 11 | 12 13

Arrays are dense: a group that was never sampled has its place, and `visited` says so. No tokens here, only scalars.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from murphy_jax.method.typed import typed


@jax.tree_util.register_dataclass
@dataclass(frozen=True, kw_only=True)
class RolloutTree:
    """What was sampled and scored of P trees; JAX or NumPy arrays.

    Attributes:
        reward: score of each node's program, 1 is solved; any number where no node was sampled.
        expanded: the node's child group was sampled; False throughout the last turn.
    """

    reward: Float[Array | np.ndarray, "P M G"]
    expanded: Bool[Array | np.ndarray, "P M G"]


def num_groups(group_size: int, num_turns: int) -> int:
    """M, the sibling groups of a full tree.

    >>> [num_groups(8, num_turns) for num_turns in (1, 2, 3)]
    [1, 9, 73]
    """
    assert group_size >= 1, f"group_size is {group_size}"
    assert num_turns >= 1, f"num_turns is {num_turns}"
    return sum(group_size**level for level in range(num_turns))


def turn_slices(group_size: int, num_turns: int) -> tuple[slice, ...]:
    """Where each turn's groups stand along M.

    >>> turn_slices(2, 3)
    (slice(0, 1, None), slice(1, 3, None), slice(3, 7, None))
    """
    ends = [num_groups(group_size, turn) for turn in range(1, num_turns + 1)]
    return tuple(slice(end - group_size**level, end) for level, end in enumerate(ends))


def turn_of_group(group_size: int, num_turns: int) -> Int[np.ndarray, " M"]:
    """The turn of each group.

    >>> turn_of_group(2, 3).tolist()
    [1, 2, 2, 3, 3, 3, 3]
    """
    turns = np.arange(1, num_turns + 1, dtype=np.int32)
    return np.repeat(turns, [group_size**level for level in range(num_turns)])


@typed
def visited(expanded: Bool[Array, "P M G"]) -> Bool[Array, "P M"]:
    """Which groups were sampled: the first, and each whose parent is expanded in a group that was sampled itself.

    >>> visited(jnp.array([[[True, False], [False, False], [False, False]]]))
    Array([[ True,  True, False]], dtype=bool)
    """
    num_prompts, groups, group_size = expanded.shape
    levels = [jnp.ones((num_prompts, 1), bool)]
    for turn in turn_slices(group_size, _num_turns(groups, group_size))[:-1]:
        parents = expanded[:, turn] & levels[-1][..., None]
        levels.append(parents.reshape(num_prompts, -1))
    return jnp.concatenate(levels, axis=1)


def _num_turns(groups: int, group_size: int) -> int:
    """S, from M and G."""
    num_turns = 1
    while num_groups(group_size, num_turns) < groups:
        num_turns += 1
    assert num_groups(group_size, num_turns) == groups, f"no tree of groups of {group_size} has {groups} groups"
    return num_turns
