"""A decoder-only transformer over sibling groups: the skeleton that every family's layer fits into.

    context [B, C]     once a group, right-padded, valid length a group; positions 0 .. length - 1
    member  [B, G, T]  the completions; token t has position length + t and sees the context, its own past, no sibling

    packed row of one group:   | context 0 .. C-1 | member 0 | member 1 | .. | member G-1 |     N = C + G T tokens

All linear maps run over packed rows, so the context flows through the layers once. `forward` is the same model over
plain rows. Layers are stacked, a leading L on every parameter, and scanned; `unstack` takes them apart for decoding,
where a loop over layers is faster. All programs work inside `jax.jit`; parameters may be float32 while the arithmetic
runs in `model.dtype`. Knows nothing of sampling, rewards or losses.

Axes: B groups, C context tokens, G members, T completion tokens, N packed tokens, L layers, H heads, K kv heads,
D head dim, W width, V vocabulary.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import jax
import jax.numpy as jnp
from flax import nnx
from jax.typing import DTypeLike
from jaxtyping import Array, Float, Int

from murphy_jax.models import cache
from murphy_jax.models.attention import attend, attend_groups, attend_rows, by_head, by_kv_head, by_token
from murphy_jax.models.cache import ContextCache, MemberCache
from murphy_jax.models.config import ModelConfig
from murphy_jax.models.layers import RMSNorm, rotation
from murphy_jax.models.qwen3 import Qwen3Layer

Tree = TypeVar("Tree")
Left = TypeVar("Left")


class Decoder(nnx.Module):
    """Embedding, stacked layers, final norm and unembedding.

    Attributes:
        dtype: type of the arithmetic; the parameters are created float32.
        unembedding: [W V], None where it is the embedding transposed.
    """

    def __init__(self, config: ModelConfig, *, rngs: nnx.Rngs, dtype: DTypeLike = jnp.float32) -> None:
        self.config = config
        self.dtype = jnp.dtype(dtype)
        scale, sizes = config.initializer_range, (config.vocab_size, config.hidden_size)
        self.embedding = nnx.Param(scale * jax.random.normal(rngs.params(), sizes, jnp.float32))
        self.layers = _stack(config, rngs)
        self.final_norm = RMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.unembedding = (
            None
            if config.tied_embeddings
            else nnx.Param(scale * jax.random.normal(rngs.params(), sizes[::-1], jnp.float32))
        )


@jax.tree_util.register_dataclass
@dataclass(frozen=True, kw_only=True)
class Unstacked:
    """A decoder taken apart for decoding: one module a layer, all parameters in the type of the arithmetic."""

    embedding: Float[Array, "V W"]
    layers: tuple[Qwen3Layer, ...]
    final_norm: RMSNorm
    unembedding: Float[Array, "W V"] | None
    config: ModelConfig = field(metadata={"static": True})


def unstack(model: Decoder) -> Unstacked:
    """Take the layers apart and cast, once, outside the decoding loop."""
    model = jax.tree.map(lambda parameter: parameter.astype(model.dtype), model)
    return Unstacked(
        embedding=model.embedding[...],
        layers=tuple(_index(model.layers, index) for index in range(model.config.num_layers)),
        final_norm=model.final_norm,
        unembedding=None if model.unembedding is None else model.unembedding[...],
        config=model.config,
    )


def forward(model: Decoder, token: Int[Array, "B N"]) -> Float[Array, "B N W"]:
    """Hidden states of plain rows, after the final norm.

    No token sees what stands behind it, so right-padded rows need no lengths.
    """
    hidden, _ = _scan(model, token, _row_position(token), attend_rows, remat=False)
    return model.final_norm(hidden)


def encode_groups(
    model: Decoder,
    context: Int[Array, "B C"],
    context_length: Int[Array, " B"],
    member: Int[Array, "B G T"],
    *,
    remat: bool = True,
) -> tuple[Float[Array, "B W"], Float[Array, "B G T W"]]:
    """Hidden states, after the final norm, that predict the members' tokens.

    Args:
        model: the decoder; differentiable in its parameters.
        context: right-padded; what stands in the padding is never seen.
        context_length: valid tokens, at least 1.
        member: completions, right-padded; a token sees nothing behind it.
        remat: recompute each layer in the backward pass instead of keeping what is inside it.

    Returns:
        At the context's last valid token, which predicts member token 0, and at every member token t, which predicts
        token t + 1.
    """
    num_context, group_size, num_tokens = context.shape[1], *member.shape[1:]
    packed = jnp.concatenate([context, member.reshape(len(member), -1)], axis=1)
    member_position = context_length[:, None] + jnp.arange(num_tokens)[None, :]
    position = jnp.concatenate([_row_position(context), jnp.tile(member_position, (1, group_size))], axis=1)
    keep_context = jnp.arange(num_context)[None, :] < context_length[:, None]

    def attention(query: Array, key: Array, value: Array) -> tuple[Array, None]:
        return attend_groups(query, key, value, keep_context=keep_context, group_size=group_size), None

    hidden, _ = _scan(model, packed, position, attention, remat=remat)
    members = hidden[:, num_context:].reshape(*member.shape, -1)
    return model.final_norm(_at_last(hidden, context_length)), model.final_norm(members)


def prefill(
    model: Decoder, context: Int[Array, "B C"], context_length: Int[Array, " B"]
) -> tuple[Float[Array, "B W"], ContextCache]:
    """Hidden state, after the final norm, at each context's last valid token, and the cache that decoding reads."""
    hidden, stacked = _scan(model, context, _row_position(context), attend_rows, remat=False)
    layers = tuple(_index(stacked, index) for index in range(model.config.num_layers))
    return model.final_norm(_at_last(hidden, context_length)), ContextCache(layers=layers, length=context_length)


def decode(
    model: Unstacked,
    token: Int[Array, "B G"],
    step: Int[Array, ""],
    context: ContextCache,
    member: MemberCache,
) -> tuple[Float[Array, "B G W"], MemberCache]:
    """Feed completion token `step` of every member.

    Args:
        model: from `unstack`.
        token: the token drawn at this step.
        step: number of completion tokens before it, the same for all members.
        context: from `prefill`.
        member: slots 0 .. step - 1 are filled.

    Returns:
        Hidden states, after the final norm, that predict token `step + 1`, and the cache with slot `step` written.
    """
    config, group_size = model.config, token.shape[1]
    x = model.embedding[token]
    position = jnp.broadcast_to(context.length[:, None] + step, token.shape)
    angles = rotation(position, head_dim=config.head_dim, theta=config.rope_theta, dtype=x.dtype)
    keep_context = jnp.arange(context.layers[0].key.shape[2])[None, :] < context.length[:, None]
    keep_own = (jnp.arange(member.layers[0].key.shape[3]) <= step)[None, :]
    written = []
    for layer, shared, past in zip(model.layers, context.layers, member.layers, strict=True):
        query, key, value = layer.enter(x, *angles)
        own = cache.write(
            past, key=by_head(key, group_size=group_size), value=by_head(value, group_size=group_size), step=step
        )
        query = by_kv_head(query, num_kv_heads=config.num_kv_heads, group_size=group_size)
        x = layer.leave(x, by_token(attend(query, own, keep_own, shared, keep_context)))
        written.append(own)
    return model.final_norm(x), MemberCache(layers=tuple(written))


def unembed(model: Decoder | Unstacked, hidden: Float[Array, "... W"]) -> Float[Array, "... V"]:
    """Float32 logits."""
    flat = hidden.reshape(-1, hidden.shape[-1])
    if model.unembedding is None:
        equation, matrix = "nw,vw->nv", model.embedding[...]
    else:
        equation, matrix = "nw,wv->nv", model.unembedding[...]
    logits = jnp.einsum(equation, flat, matrix.astype(hidden.dtype), preferred_element_type=jnp.float32)
    return logits.reshape(*hidden.shape[:-1], -1)


def _scan(
    model: Decoder,
    token: Int[Array, "B N"],
    position: Int[Array, "B N"],
    attention: Callable[[Array, Array, Array], tuple[Array, Left]],
    *,
    remat: bool,
) -> tuple[Float[Array, "B N W"], Left]:
    """The residual stream behind the last layer, and what `attention` leaves, stacked over layers."""
    config = model.config
    angles = rotation(position, head_dim=config.head_dim, theta=config.rope_theta, dtype=model.dtype)

    def body(x: Array, layer: Qwen3Layer) -> tuple[Array, Left]:
        attended, left = attention(*layer.enter(x, *angles))
        return layer.leave(x, attended), left

    x = model.embedding[...][token].astype(model.dtype)
    return jax.lax.scan(jax.checkpoint(body, prevent_cse=False) if remat else body, x, model.layers)


def _stack(config: ModelConfig, rngs: nnx.Rngs) -> Qwen3Layer:
    @nnx.split_rngs(splits=config.num_layers)
    @nnx.vmap(in_axes=(0,), out_axes=0)
    def create(rngs: nnx.Rngs) -> Qwen3Layer:
        return Qwen3Layer(config, rngs=rngs)

    return create(rngs)


def _index(tree: Tree, index: int) -> Tree:
    return jax.tree.map(lambda leaf: leaf[index], tree)


def _row_position(token: Int[Array, "B N"]) -> Int[Array, "B N"]:
    return jnp.broadcast_to(jnp.arange(token.shape[1])[None, :], token.shape)


def _at_last(hidden: Float[Array, "B N W"], length: Int[Array, " B"]) -> Float[Array, "B W"]:
    last = jnp.maximum(length - 1, 0)
    return jnp.take_along_axis(hidden, last[:, None, None], axis=1)[:, 0]
