"""Attention of a group of siblings: one primitive for prefill, decode and the update.

Every member attends to the context all siblings share and to its own tokens, in one softmax over both sets of keys:

    weight = exp(score - peak),  peak = max over both sets,  out = (sum weight value) / (sum weight)  over both sets

    queries          shared keys (read once for all members)      own keys
    member 0, t=1    x x x x .                                    x x .
    member 1, t=2    x x x x .                                    x x x          x kept, . masked

The two sets are never concatenated. Scores and softmax are float32; the products with the values are in the type of
the activations, summed in float32. The score matrix is materialised: no tiling over keys.

Axes: B groups, K kv heads, R query heads a kv head, G members, T query tokens, S own keys, C context keys, D head dim.
"""

from dataclasses import dataclass
from functools import reduce

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

_MASKED = float(np.finfo(np.float32).min)


@jax.tree_util.register_dataclass
@dataclass(frozen=True, kw_only=True)
class KeyValue:
    """Keys and values of one layer, kv heads first: [B K C D] of a context, [B K G S D] of members."""

    key: Float[Array, "B K *G S D"]
    value: Float[Array, "B K *G S D"]


def attend(
    query: Float[Array, "B K G T R D"],
    own: KeyValue,
    keep_own: Bool[Array, "T S"],
    shared: KeyValue | None = None,
    keep_shared: Bool[Array, "B C"] | None = None,
) -> Float[Array, "B K G T R D"]:
    """Attend to `own` keys [B K G S D] and, where given, to `shared` keys [B K C D].

    Every query must keep at least one of its own keys.
    """
    sources = [("bkgsd", own, keep_own[None, None, None, :, None, :])]
    if shared is not None and keep_shared is not None:
        sources.append(("bksd", shared, keep_shared[:, None, None, None, None, :]))
    scale = query.shape[-1] ** -0.5
    scores = [
        jnp.where(keep, _product(f"bkgtrd,{axes}->bkgtrs", query, source.key) * scale, _MASKED)
        for axes, source, keep in sources
    ]
    peak = reduce(jnp.maximum, [jnp.max(score, axis=-1, keepdims=True) for score in scores])
    weights = [jnp.exp(score - jax.lax.stop_gradient(peak)) for score in scores]
    total = reduce(jnp.add, [jnp.sum(weight, axis=-1, keepdims=True) for weight in weights])
    mixed = reduce(
        jnp.add,
        [
            _product(f"bkgtrs,{axes}->bkgtrd", weight.astype(query.dtype), source.value)
            for weight, (axes, source, _) in zip(weights, sources, strict=True)
        ],
    )
    return (mixed / total).astype(query.dtype)


def attend_rows(
    query: Float[Array, "B N H D"], key: Float[Array, "B N K D"], value: Float[Array, "B N K D"]
) -> tuple[Float[Array, "B N H*D"], KeyValue]:
    """Causal attention of plain rows; also their keys and values [B K N D]."""
    own = KeyValue(key=by_head(key, group_size=1), value=by_head(value, group_size=1))
    attended = attend(by_kv_head(query, num_kv_heads=key.shape[2], group_size=1), own, causal(query.shape[1]))
    return by_token(attended), KeyValue(key=own.key[:, :, 0], value=own.value[:, :, 0])


def attend_groups(
    query: Float[Array, "B N H D"],
    key: Float[Array, "B N K D"],
    value: Float[Array, "B N K D"],
    *,
    keep_context: Bool[Array, "B C"],
    group_size: int,
) -> Float[Array, "B N H*D"]:
    """Attention of packed rows, N = C + G T: context to context, members to the context and to themselves."""
    size, num_kv_heads = keep_context.shape[1], key.shape[2]
    context, shared = attend_rows(query[:, :size], key[:, :size], value[:, :size])
    member_query = by_kv_head(query[:, size:], num_kv_heads=num_kv_heads, group_size=group_size)
    own = KeyValue(
        key=by_head(key[:, size:], group_size=group_size), value=by_head(value[:, size:], group_size=group_size)
    )
    member = attend(member_query, own, causal(member_query.shape[3]), shared, keep_context)
    return jnp.concatenate([context, by_token(member)], axis=1)


def by_head(x: Float[Array, "B N K D"], *, group_size: int) -> Float[Array, "B K G T D"]:
    """Keys or values of G T tokens a row, kv heads first."""
    num_rows, num_tokens, num_heads, head_dim = x.shape
    split = x.reshape(num_rows, group_size, num_tokens // group_size, num_heads, head_dim)
    return split.transpose(0, 3, 1, 2, 4)


def by_kv_head(x: Float[Array, "B N H D"], *, num_kv_heads: int, group_size: int) -> Float[Array, "B K G T R D"]:
    """Queries of G T tokens a row, gathered under the kv head they read."""
    num_rows, num_tokens, num_heads, head_dim = x.shape
    sizes = (num_rows, group_size, num_tokens // group_size, num_kv_heads, num_heads // num_kv_heads, head_dim)
    return x.reshape(sizes).transpose(0, 3, 1, 2, 4, 5)


def by_token(x: Float[Array, "B K G T R D"]) -> Float[Array, "B N H*D"]:
    """Undo `by_kv_head` and join the heads."""
    num_rows, num_kv_heads, group_size, num_tokens, ratio, head_dim = x.shape
    return x.transpose(0, 2, 3, 1, 4, 5).reshape(num_rows, group_size * num_tokens, num_kv_heads * ratio * head_dim)


def causal(size: int) -> Bool[Array, "T T"]:
    """Token t keeps tokens 0 .. t."""
    return jnp.tril(jnp.ones((size, size), bool))


def _product(equation: str, left: Float[Array, "..."], right: Float[Array, "..."]) -> Float[Array, "..."]:
    return jnp.einsum(equation, left, right, preferred_element_type=jnp.float32)
