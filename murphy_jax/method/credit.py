"""Retrospective credit: rewards flow back from the last turn to the first.

R is a node's credit, r its reward, s its turn of S, c its children; a node without children keeps R = r.

    MaRS   R = max(r, discount * max_c R(c))
    MeRS   R = (r + discount * mean_c R(c)) / (S - s + 1)        or divided once at the end, or never

A turn's credit is a reduction over its children's member axis, so a tree takes S - 1 sweeps. Groups that were not
sampled get 0. Which nodes are trained on is not decided here: see pruning and advantage.
"""

from collections.abc import Callable
from functools import partial
from typing import Literal

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from murphy_jax.method import tree
from murphy_jax.method.typed import Scalar, typed

# (reward [P K G], children's credit [P K G G], turn) -> credit [P K G] of the turn's K groups, were all expanded.
Combine = Callable[[Array, Array, int], Array]


@typed
def mars(
    reward: Float[Array, "P M G"], expanded: Bool[Array, "P M G"], *, num_turns: int, discount: Scalar = 1.0
) -> Float[Array, "P M G"]:
    """Max-reward credit: a node is worth its own reward, or its best descendant's.

    Args:
        reward: each node's own.
        expanded: the node's child group was sampled.
        num_turns: S.
        discount: of a turn; 1 makes a repaired attempt worth as much as a solved one.

    The first of two attempts at 0.5 and 0.25 is repaired by its second child, the other is not tried again:

    >>> reward = jnp.array([[[0.5, 0.25], [0.0, 1.0], [0.0, 0.0]]])
    >>> expanded = jnp.array([[[True, False], [False, False], [False, False]]])
    >>> mars(reward, expanded, num_turns=2).tolist()
    [[[1.0, 0.25], [0.0, 1.0], [0.0, 0.0]]]
    """

    def combine(own: Array, children: Array, _: int) -> Array:
        return jnp.maximum(own, discount * children.max(axis=-1))

    return _zero_unvisited(_back_propagate(reward, expanded, num_turns, combine), expanded)


@typed
def mers(
    reward: Float[Array, "P M G"],
    expanded: Bool[Array, "P M G"],
    *,
    num_turns: int,
    discount: Scalar = 0.9,
    normalise: Literal["each", "end", "none"] = "each",
) -> Float[Array, "P M G"]:
    """Mean-reward credit: a node is worth its own reward and its children's mean, over the turns they span.

    Only expanded nodes are divided: a solved leaf keeps 1 at any turn, or a first solve would be worth less than a
    near miss that is repaired.

    Args:
        reward: each node's own.
        expanded: the node's child group was sampled.
        num_turns: S.
        discount: of a turn.
        normalise: "each" divides by S - s + 1 at every turn, so that what flows back is divided already; "end" lets
            J = r + discount * mean_c J(c) flow back and divides it once; "none" gives J.

    >>> reward = jnp.array([[[0.5, 0.25], [0.0, 1.0], [0.0, 0.0]]])
    >>> expanded = jnp.array([[[True, False], [False, False], [False, False]]])
    >>> mers(reward, expanded, num_turns=2, discount=0.5).tolist()
    [[[0.375, 0.25], [0.0, 1.0], [0.0, 0.0]]]
    >>> mers(reward, expanded, num_turns=2, discount=0.5, normalise="none").tolist()
    [[[0.75, 0.25], [0.0, 1.0], [0.0, 0.0]]]
    """

    def returns(own: Array, children: Array, _: int) -> Array:
        return own + discount * children.mean(axis=-1)

    def mean_return(own: Array, children: Array, turn: int) -> Array:
        return returns(own, children, turn) / (num_turns - turn + 1)

    back_propagate = partial(_back_propagate, reward, expanded, num_turns)
    match normalise:
        case "each":
            value = back_propagate(mean_return)
        case "end":
            value = _divide(back_propagate(returns), expanded, num_turns)
        case "none":
            value = back_propagate(returns)
    return _zero_unvisited(value, expanded)


def _back_propagate(reward: Array, expanded: Array, num_turns: int, combine: Combine) -> Array:
    """Credit of all nodes, a turn at a time from the last."""
    num_prompts, groups, group_size = reward.shape
    assert groups == tree.num_groups(group_size, num_turns), f"{reward.shape} is no tree of {num_turns} turns"
    *earlier, last = tree.turn_slices(group_size, num_turns)
    levels = [reward[:, last]]
    for turn, groups_of_turn in reversed(list(enumerate(earlier, start=1))):
        own = reward[:, groups_of_turn]
        children = levels[-1].reshape(num_prompts, -1, group_size, group_size)
        levels.append(jnp.where(expanded[:, groups_of_turn], combine(own, children, turn), own))
    return jnp.concatenate(levels[::-1], axis=1)


def _divide(value: Array, expanded: Array, num_turns: int) -> Array:
    """Over the S - s + 1 turns that an expanded node spans; none is expanded in the last turn."""
    group_size = value.shape[-1]
    parents = slice(tree.turn_slices(group_size, num_turns)[-1].start)
    spanned = num_turns + 1 - tree.turn_of_group(group_size, num_turns)[None, parents, None]
    return value.at[:, parents].divide(jnp.where(expanded[:, parents], jnp.asarray(spanned, value.dtype), 1.0))


def _zero_unvisited(value: Array, expanded: Array) -> Array:
    return jnp.where(tree.visited(expanded)[..., None], value, 0.0)
