"""The GRPO objective on tokens, and the weights that make it a mean.

    loss = sum over tokens of  weight * -( min(rho A, clip(rho, 1 - clip_low, 1 + clip_high) A) - beta * k3 )
    rho  = exp(new - old)           k3 = exp(reference - new) - (reference - new) - 1          log-probs of the token

A weight is the token's mask over a denominator of the whole batch, so the losses and gradients of micro-batches add up
to the batch's. Masks come from lengths, never from token ids: a pad id may be sampled, and the end token is trained on.
A ratio beyond float32 is not guarded against: the loss is then not finite, which the training loop stops at.
"""

from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from murphy_jax.method.typed import Scalar, typed

Aggregate = Literal["token", "sequence"]


@typed
def policy_loss(
    log_probs: Float[Array, "*N T"],
    old_log_probs: Float[Array, "*N T"],
    advantage: Float[Array, "*N"],
    weight: Float[Array, "*N T"],
    *,
    clip_low: Scalar = 0.2,
    clip_high: Scalar = 0.2,
    kl_coefficient: Scalar = 0.0,
    reference_log_probs: Float[Array, "*N T"] | None = None,
) -> tuple[Float[Array, ""], dict[str, Float[Array, ""]]]:
    """The weighted loss, and weighted sums that describe it; only `log_probs` has a gradient.

    Args:
        log_probs: of the sampled tokens under the policy, in nats.
        old_log_probs: under the policy that sampled them.
        advantage: of each member.
        weight: of each token; where it is 0, the other arrays may hold anything, NaN and infinities too.
        clip_low: how far the ratio may fall below 1 before it stops counting.
        clip_high: how far it may rise above 1.
        kl_coefficient: beta; needs `reference_log_probs` unless 0.
        reference_log_probs: under the policy that beta keeps near.

    Returns:
        The loss, and the sums over tokens of weight times: `clip_share` (1 where the clip binds, on either side),
        `kl` (k3; 0 without a reference), `ratio` (rho).

    >>> old, advantage = jnp.zeros((2, 1)), jnp.array([1.0, -1.0])
    >>> loss, sums = policy_loss(jnp.log(jnp.array([[1.5], [0.9]])), old, advantage, jnp.full((2, 1), 0.5))
    >>> f"{loss:.3f}  {sums['clip_share']:.2f}  {sums['ratio']:.2f}"        # -(1.2 - 0.9) / 2
    '-0.150  0.50  1.20'
    """
    active = weight > 0

    def masked(values: Array) -> Array:
        return jnp.where(active, values, 0.0)

    # Before exp and products, or 0 * inf would put NaN into the gradient.
    new, old = masked(log_probs), masked(jax.lax.stop_gradient(old_log_probs))
    gain = masked(jax.lax.stop_gradient(advantage)[..., None])
    ratio = jnp.exp(new - old)
    surrogate = jnp.minimum(ratio * gain, jnp.clip(ratio, 1 - clip_low, 1 + clip_high) * gain)
    if reference_log_probs is None:
        assert not isinstance(kl_coefficient, Array) and kl_coefficient == 0, "a KL term needs a reference"
        kl = jnp.zeros_like(ratio)
    else:
        difference = masked(jax.lax.stop_gradient(reference_log_probs)) - new
        kl = jnp.expm1(difference) - difference
    clipped = ((gain > 0) & (ratio > 1 + clip_high)) | ((gain < 0) & (ratio < 1 - clip_low))
    described = {"clip_share": clipped.astype(weight.dtype), "kl": kl, "ratio": ratio}
    sums = {name: jax.lax.stop_gradient(jnp.sum(weight * values)) for name, values in described.items()}
    return -jnp.sum(weight * (surrogate - kl_coefficient * kl)), sums


@typed
def member_weights(
    lengths: Int[Array, "*N"], live: Bool[Array, "*N"], *, aggregate: Aggregate = "token"
) -> Float[Array, "*N"]:
    """The weight of each of a member's tokens; over all tokens of live members the weights add up to 1.

    Args:
        lengths: completion tokens, the end token among them.
        live: the member trains.
        aggregate: "token" is the mean over all tokens, "sequence" the mean over members of the mean over their tokens.

    >>> member_weights(jnp.array([1, 3, 5]), jnp.array([True, True, False])).tolist()
    [0.25, 0.25, 0.0]
    >>> member_weights(jnp.array([1, 4, 5]), jnp.array([True, True, False]), aggregate="sequence").tolist()
    [0.5, 0.125, 0.0]
    """
    trained = live & (lengths > 0)
    match aggregate:
        case "token":
            denominator = jnp.broadcast_to(jnp.sum(lengths, where=trained), lengths.shape)
        case "sequence":
            denominator = lengths * jnp.sum(trained, dtype=lengths.dtype)
    return jnp.where(trained, 1.0 / jnp.maximum(denominator, 1).astype(jnp.float32), 0.0)


@typed
def token_weights(
    weight: Float[Array, "*N"], lengths: Int[Array, "*N"], max_length: int
) -> Float[Array, "*N {max_length}"]:
    """The weight of each member's token on its first `lengths` positions of T = `max_length`, 0 after them.

    >>> token_weights(jnp.array([0.25, 0.25]), jnp.array([1, 3]), 4).tolist()
    [[0.25, 0.0, 0.0, 0.0], [0.25, 0.25, 0.25, 0.0]]
    """
    positions = jnp.arange(max_length).reshape((1,) * lengths.ndim + (max_length,))
    inside = positions < lengths[..., None]
    return jnp.where(inside, weight[..., None], 0.0)
