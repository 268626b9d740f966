"""The Qwen3 layer, and the names of its tensors in a Hugging Face checkpoint.

    query, key = rotate(norm(heads(norm(x) W)))      each with its own W and its own norm over the head
    value      = heads(norm(x) W_v)
    x = x + attention W_o
    x = x + mlp(norm(x))

What happens between `enter` and `leave`, the attention, belongs to the decoder.
"""

from collections.abc import Mapping

from flax import nnx
from jaxtyping import Array, Float

from murphy_jax.models.config import ModelConfig
from murphy_jax.models.layers import GatedMLP, Linear, RMSNorm, rotate


class Qwen3Layer(nnx.Module):
    """One layer: what comes before the attention and what comes after it."""

    def __init__(self, config: ModelConfig, *, rngs: nnx.Rngs) -> None:
        width, scale = config.hidden_size, config.initializer_range
        query_width, key_width = config.num_heads * config.head_dim, config.num_kv_heads * config.head_dim
        self.head_dim = config.head_dim
        self.attention_norm = RMSNorm(width, eps=config.rms_norm_eps)
        self.query = Linear(width, query_width, scale=scale, rngs=rngs)
        self.key = Linear(width, key_width, scale=scale, rngs=rngs)
        self.value = Linear(width, key_width, scale=scale, rngs=rngs)
        self.output = Linear(query_width, width, scale=scale, rngs=rngs)
        self.query_norm = RMSNorm(config.head_dim, eps=config.rms_norm_eps)
        self.key_norm = RMSNorm(config.head_dim, eps=config.rms_norm_eps)
        self.mlp_norm = RMSNorm(width, eps=config.rms_norm_eps)
        self.mlp = GatedMLP(width, config.intermediate_size, scale=scale, rngs=rngs)

    def enter(
        self, x: Float[Array, "B N W"], cosine: Float[Array, "B N 1 D/2"], sine: Float[Array, "B N 1 D/2"]
    ) -> tuple[Float[Array, "B N H D"], Float[Array, "B N K D"], Float[Array, "B N K D"]]:
        """Queries, keys and values of every token, positions applied."""
        normed = self.attention_norm(x)
        heads = (*x.shape[:-1], -1, self.head_dim)
        query = self.query_norm(self.query(normed).reshape(heads))
        key = self.key_norm(self.key(normed).reshape(heads))
        return rotate(query, cosine, sine), rotate(key, cosine, sine), self.value(normed).reshape(heads)

    def leave(self, x: Float[Array, "B N W"], attended: Float[Array, "B N H*D"]) -> Float[Array, "B N W"]:
        """The residual stream after the attention's output and the MLP."""
        x = x + self.output(attended)
        return x + self.mlp(self.mlp_norm(x))


# Path of a parameter of the layer -> name of its tensor behind `model.layers.{i}.`
LAYER_TENSORS: Mapping[tuple[str, ...], str] = {
    ("attention_norm", "weight"): "input_layernorm.weight",
    ("query", "kernel"): "self_attn.q_proj.weight",
    ("key", "kernel"): "self_attn.k_proj.weight",
    ("value", "kernel"): "self_attn.v_proj.weight",
    ("output", "kernel"): "self_attn.o_proj.weight",
    ("query_norm", "weight"): "self_attn.q_norm.weight",
    ("key_norm", "weight"): "self_attn.k_norm.weight",
    ("mlp_norm", "weight"): "post_attention_layernorm.weight",
    ("mlp", "gate", "kernel"): "mlp.gate_proj.weight",
    ("mlp", "up", "kernel"): "mlp.up_proj.weight",
    ("mlp", "down", "kernel"): "mlp.down_proj.weight",
}
