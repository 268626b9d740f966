"""A decoder of a few thousand parameters and batches of sibling groups: what every model test starts from."""

from dataclasses import replace
from functools import cache

import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Int

from murphy_jax.models import Decoder, ModelConfig
from murphy_jax.models.weights import DType

# Grouped heads, heads wider than the residual stream, weights large enough that every part of the layer matters.
CONFIG = ModelConfig(
    vocab_size=41,
    hidden_size=20,
    intermediate_size=28,
    num_layers=3,
    num_heads=6,
    num_kv_heads=3,
    head_dim=6,
    rope_theta=5000.0,
    rms_norm_eps=1e-5,
    initializer_range=0.25,
)


@cache
def make_decoder(*, tied: bool = True, seed: int = 0, dtype: DType = "float32") -> Decoder:
    """A random decoder, made once: tests do not change it."""
    return Decoder(replace(CONFIG, tied_embeddings=tied), rngs=nnx.Rngs(seed), dtype=dtype)


def make_tokens(*shape: int, seed: int = 0) -> Int[Array, "..."]:
    """Random token ids."""
    return jnp.asarray(np.random.default_rng(seed).integers(0, CONFIG.vocab_size, shape), jnp.int32)
