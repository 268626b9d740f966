"""Pruning after the rollout: which sibling groups and members are worth an update.

    InterP   of a prompt's groups, the `budget` with the largest std of member credit
    IntraP   of a group's members, the `budget` with the largest variance: for some i, the i highest and the rest lowest

Both concern turns 2..S; the first turn is kept whole, and does not count in a budget. They return masks of what is
kept, to be combined with `&`; normalisation of what is left is advantage's.
"""

from functools import partial

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from murphy_jax.method.typed import typed

# Spreads that round to one multiple of this are ties. Credits are ratios of small integers, so equal spreads are
# common, and which of two comes out larger in float32 is up to the order of a sum.
RESOLUTION = 2.0**-20


@typed
def keep_groups(
    credit: Float[Array, "P M G"], visited: Bool[Array, "P M"], *, budget: int | None
) -> Bool[Array, "P M"]:
    """InterP: the sampled groups of largest spread; of equal ones the first in level order.

    Args:
        credit: of each node.
        visited: the group was sampled.
        budget: groups kept of each prompt beside the first turn's; None keeps all.

    Four groups of turn 2; the third was not sampled, the second and the last spread alike:

    >>> credit = jnp.array([[[1.0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 1]]])
    >>> visited = jnp.array([[True, True, True, False, True]])
    >>> keep_groups(credit, visited, budget=1).tolist()
    [[True, False, True, False, False]]
    """
    if budget is None:
        return visited
    assert budget >= 0, f"budget is {budget}"
    spread = jnp.where(visited, _rounded(credit.std(axis=-1)), -1.0)
    rank = _rank(-spread[:, 1:])
    return visited & jnp.pad(rank < budget, ((0, 0), (1, 0)), constant_values=True)


@typed
def keep_members(
    credit: Float[Array, "P M G"], visited: Bool[Array, "P M"], *, budget: int | None
) -> Bool[Array, "P M G"]:
    """IntraP: in each sampled group, the members whose credits have the largest variance.

    Of equal subsets the one with more high credits; a later member counts as higher than an equal earlier one.

    Args:
        credit: of each node.
        visited: the group was sampled.
        budget: members kept of each group of turn 2 or later, at least 1; None keeps all.

    >>> credit = jnp.array([[[0.0, 0.5, 0.75], [0.5, 1.0, 0.0], [0.5, 0.0, 0.25], [0.0, 0.0, 0.0]]])
    >>> visited = jnp.array([[True, True, True, False]])
    >>> keep_members(credit, visited, budget=2).tolist()[0]
    [[True, True, True], [False, True, True], [True, True, False], [False, False, False]]
    """
    num_prompts, _, group_size = credit.shape
    if budget is None or budget >= group_size:
        return jnp.broadcast_to(visited[..., None], credit.shape)
    assert budget >= 1, f"budget is {budget}"
    choose = jnp.vectorize(partial(_largest_variance, budget=budget), signature="(g)->(g)")
    first = jnp.ones((num_prompts, 1, group_size), bool)
    return visited[..., None] & jnp.concatenate([first, choose(credit[:, 1:])], axis=1)


def _largest_variance(credit: Float[Array, " G"], *, budget: int) -> Bool[Array, " G"]:
    """The best of the budget + 1 subsets of i highest and budget - i lowest, i falling."""
    num_high = jnp.arange(budget, -1, -1)[:, None]
    rank = _rank(credit)[None, :]
    subsets = (rank < budget - num_high) | (rank >= len(credit) - num_high)
    spread = jnp.std(jnp.broadcast_to(credit, subsets.shape), axis=-1, where=subsets)
    return subsets[jnp.argmax(_rounded(spread))]


def _rank(values: Array) -> Array:
    """Place of each value in ascending order along the last axis; of equal ones the first is first."""
    return jnp.argsort(jnp.argsort(values, axis=-1, stable=True), axis=-1)


def _rounded(spread: Array) -> Array:
    return jnp.round(spread / RESOLUTION) * RESOLUTION
