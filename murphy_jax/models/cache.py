"""The keys and values that decoding reads: of contexts, written once, and of members, one slot a step.

Both hold one `KeyValue` a layer in a tuple, not one stacked array: a stacked cache that passes through a scan is copied
every step, while a tuple in a loop's carry is updated in place.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array, Float, Int

from murphy_jax.models.attention import KeyValue
from murphy_jax.models.config import ModelConfig


@jax.tree_util.register_dataclass
@dataclass(frozen=True, kw_only=True)
class ContextCache:
    """What a prefill leaves.

    Attributes:
        layers: keys and values [B K C D] of each layer.
        length: valid tokens of each context; slots from there on hold garbage.
    """

    layers: tuple[KeyValue, ...]
    length: Int[Array, " B"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True, kw_only=True)
class MemberCache:
    """What decoding has written so far: keys and values [B K G T D] of each layer, slot t for completion token t."""

    layers: tuple[KeyValue, ...]


def init_member(
    config: ModelConfig, *, num_groups: int, group_size: int, max_tokens: int, dtype: DTypeLike
) -> MemberCache:
    """An empty cache for `max_tokens` completion tokens of `num_groups * group_size` members."""
    shape = (num_groups, config.num_kv_heads, group_size, max_tokens, config.head_dim)
    return MemberCache(
        layers=tuple(
            KeyValue(key=jnp.zeros(shape, dtype), value=jnp.zeros(shape, dtype)) for _ in range(config.num_layers)
        )
    )


def write(
    cache: KeyValue, *, key: Float[Array, "B K G 1 D"], value: Float[Array, "B K G 1 D"], step: Int[Array, ""]
) -> KeyValue:
    """Put one token a member into slot `step`."""
    return KeyValue(
        key=jax.lax.dynamic_update_slice_in_dim(cache.key, key, step, axis=3),
        value=jax.lax.dynamic_update_slice_in_dim(cache.value, value, step, axis=3),
    )
