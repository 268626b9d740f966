"""Advantage within a sibling group: all members share one context, so their mean is the baseline.

    A = (R - mean) / (std + epsilon)                over the kept members of the group, population std
    A = R - mean                                    scale "none"
    A = R - mean of the other members               scale "leave-one-out", (R - mean) n / (n - 1) of n kept members

A group whose kept members have equal credit, or that keeps fewer than two, is dead: it teaches nothing, its advantages
are exactly 0, and `live` takes it out of the loss, the KL term and the denominator as well.
"""

from typing import Literal

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from murphy_jax.method.typed import typed


@typed
def group_advantage(
    credit: Float[Array, "P M G"],
    keep: Bool[Array, "P M G"],
    *,
    scale: Literal["std", "none", "leave-one-out"] = "std",
    epsilon: float = 1e-6,
    tolerance: float = 1e-6,
) -> Float[Array, "P M G"]:
    """Advantage of every kept member of a live group, 0 elsewhere.

    Args:
        credit: of each node; what is not kept may be any number.
        keep: the node was sampled and survived pruning.
        scale: what the difference to the baseline is divided by.
        epsilon: added to the std.
        tolerance: credits no further apart are equal.

    >>> credit = jnp.array([[[1.0, 0.0, 0.0, 9.0], [0.5, 0.5, 0.5, 0.5]]])
    >>> keep = jnp.array([[[True, True, False, False], [True, True, True, True]]])
    >>> group_advantage(credit, keep, epsilon=0.0).tolist()
    [[[1.0, -1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]]
    >>> group_advantage(credit, keep, scale="none").tolist()
    [[[0.5, -0.5, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]]
    """
    count = jnp.sum(keep, axis=-1, keepdims=True, dtype=credit.dtype)
    kept = jnp.where(keep, credit, 0.0)
    mean = kept.sum(axis=-1, keepdims=True) / jnp.maximum(count, 1)
    difference = jnp.where(live(credit, keep, tolerance=tolerance), kept - mean, 0.0)
    match scale:
        case "std":
            variance = jnp.sum(difference**2, axis=-1, keepdims=True) / jnp.maximum(count, 1)
            # A dead group's 0 / 0 with epsilon 0 would be NaN.
            return difference / jnp.where(variance > 0, jnp.sqrt(variance) + epsilon, 1.0)
        case "none":
            return difference
        case "leave-one-out":
            return difference * count / jnp.maximum(count - 1, 1)


@typed
def live(credit: Float[Array, "P M G"], keep: Bool[Array, "P M G"], *, tolerance: float = 1e-6) -> Bool[Array, "P M G"]:
    """The kept members of groups whose kept credits differ: what enters loss, KL and denominator.

    >>> credit = jnp.array([[[1.0, 0.0, 0.0], [0.5, 0.5, 0.5], [1.0, 0.0, 0.0]]])
    >>> keep = jnp.array([[[True, True, False], [True, True, True], [True, False, False]]])
    >>> live(credit, keep).tolist()
    [[[True, True, False], [False, False, False], [False, False, False]]]
    """
    highest = jnp.max(credit, axis=-1, keepdims=True, where=keep, initial=-jnp.inf)
    lowest = jnp.min(credit, axis=-1, keepdims=True, where=keep, initial=jnp.inf)
    return keep & (highest - lowest > tolerance)
