"""The parts every decoder layer is made of: normalisation, linear maps, the gated MLP and rotary positions.

    rms_norm(x) = x / sqrt(mean(x^2) + eps) * weight
    mlp(x)      = (silu(x gate) * (x up)) down
    rotate(x)_p = [x1 cos(p f) - x2 sin(p f), x2 cos(p f) + x1 sin(p f)],  x = [x1, x2],  f_i = theta^(-2 i / D)

Parameters keep the type they were made with; each call computes in the type of its input. No biases, no dropout.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jax.typing import DTypeLike
from jaxtyping import Array, Float, Int


class RMSNorm(nnx.Module):
    """Root-mean-square normalisation: float32 inside, cast back, then multiplied by the weight."""

    def __init__(self, width: int, *, eps: float) -> None:
        self.weight = nnx.Param(jnp.ones(width, jnp.float32))
        self.eps = eps

    def __call__(self, x: Float[Array, "... W"]) -> Float[Array, "... W"]:
        """Normalise the last axis."""
        exact = x.astype(jnp.float32)
        scale = jax.lax.rsqrt(jnp.mean(exact * exact, axis=-1, keepdims=True) + self.eps)
        weight = self.weight[...].astype(x.dtype)
        return (exact * scale).astype(x.dtype) * jnp.expand_dims(weight, tuple(range(x.ndim - 1)))


class Linear(nnx.Module):
    """`x @ kernel`, the kernel stored as [in, out]."""

    def __init__(self, width_in: int, width_out: int, *, scale: float, rngs: nnx.Rngs) -> None:
        self.kernel = nnx.Param(scale * jax.random.normal(rngs.params(), (width_in, width_out), jnp.float32))

    def __call__(self, x: Float[Array, "... I"]) -> Float[Array, "... O"]:
        """Map the last axis. The leading axes are flattened first: on CPU that makes the weight gradient fast."""
        flat = x.reshape(-1, x.shape[-1]) @ self.kernel[...].astype(x.dtype)
        return flat.reshape(*x.shape[:-1], flat.shape[-1])


class GatedMLP(nnx.Module):
    """The SwiGLU feed-forward block."""

    def __init__(self, width: int, inner: int, *, scale: float, rngs: nnx.Rngs) -> None:
        self.gate = Linear(width, inner, scale=scale, rngs=rngs)
        self.up = Linear(width, inner, scale=scale, rngs=rngs)
        self.down = Linear(inner, width, scale=scale, rngs=rngs)

    def __call__(self, x: Float[Array, "... W"]) -> Float[Array, "... W"]:
        """Apply the block to the last axis."""
        return self.down(jax.nn.silu(self.gate(x)) * self.up(x))


def rotation(
    position: Int[Array, "B N"], *, head_dim: int, theta: float, dtype: DTypeLike
) -> tuple[Float[Array, "B N 1 D/2"], Float[Array, "B N 1 D/2"]]:
    """Cosine and sine of every position's angles: computed in float32, returned in `dtype`."""
    frequency = theta ** (-jnp.arange(0, head_dim, 2, dtype=jnp.float32) / head_dim)
    angle = position.astype(jnp.float32)[:, :, None, None] * frequency[None, None, None, :]
    return jnp.cos(angle).astype(dtype), jnp.sin(angle).astype(dtype)


def rotate(
    x: Float[Array, "B N H D"], cosine: Float[Array, "B N 1 D/2"], sine: Float[Array, "B N 1 D/2"]
) -> Float[Array, "B N H D"]:
    """Rotate the two halves of every head by its position's angles."""
    first, second = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([first * cosine - second * sine, second * cosine + first * sine], axis=-1)
