"""One policy update: gradients summed over micro-batches with one global denominator, then one optimizer step.

    loss = sum over members and tokens of  weight * -(min(rho A, clip(rho) A) - beta k3)

`weight` already holds the global denominator, so the accumulation is a plain sum whatever the micro-batches are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jaxtyping import Array, Float, Int

from murphy_jax import config
from murphy_jax.method import objective
from murphy_jax.models.decoder import Decoder
from murphy_jax.training.log_probs import completion_log_probs
from murphy_jax.training.state import TrainState

Sums = dict[str, Float[Array, ""]]


@jax.tree_util.register_dataclass
@dataclass(frozen=True, kw_only=True)
class MicroBatch:
    """B sibling groups of K members, padded to C context and T completion tokens.

    Attributes:
        context: int32 [B, C].
        context_length: int32 [B].
        member: int32 [B, K, T], sampled token ids.
        length: int32 [B, K].
        old_log_probs: float32 [B, K, T] when sampled, at temperature 1.
        advantage: float32 [B, K].
        weight: float32 [B, K], of each token of the member; 0 for padding and for members that do not train.
    """

    context: Int[Array, "B C"]
    context_length: Int[Array, " B"]
    member: Int[Array, "B K T"]
    length: Int[Array, "B K"]
    old_log_probs: Float[Array, "B K T"]
    advantage: Float[Array, "B K"]
    weight: Float[Array, "B K"]


class Updater:
    """The compiled programs of the update; holds no state of the run."""

    def __init__(
        self,
        graph: nnx.GraphDef[Decoder],
        optimizer: optax.GradientTransformation,
        settings: config.Objective,
        *,
        reference: nnx.State | None = None,
    ) -> None:
        assert (reference is not None) == (settings.kl_coefficient > 0), "a reference policy goes with the KL term"
        self._reference = reference
        loss = partial(policy_loss, graph, settings)

        def accumulate(grads: nnx.State, sums: Sums, params: nnx.State, reference: Any, batch: MicroBatch) -> Any:
            (_, new_sums), new_grads = jax.value_and_grad(loss, has_aux=True)(params, reference, batch)
            return jax.tree.map(jnp.add, grads, new_grads), jax.tree.map(jnp.add, sums, new_sums)

        def apply(state: TrainState, grads: nnx.State) -> tuple[TrainState, Float[Array, ""]]:
            updates, opt_state = optimizer.update(grads, state.opt_state, state.params)
            params = optax.apply_updates(state.params, updates)
            return TrainState(params=params, opt_state=opt_state, step=state.step), optax.tree.norm(grads)

        self._zeros = jax.jit(partial(jax.tree.map, jnp.zeros_like))
        self._accumulate = jax.jit(accumulate, donate_argnums=(0, 1))
        self._apply = jax.jit(apply, donate_argnums=0)

    def __call__(self, state: TrainState, batches: Sequence[MicroBatch]) -> tuple[TrainState, dict[str, float]]:
        """One optimizer step on all `batches`; an empty sequence (only dead groups) changes nothing."""
        if not batches:
            return state, {**dict.fromkeys(SUMS, 0.0), "grad_norm": 0.0}
        grads = self._zeros(state.params)
        sums = {name: jnp.zeros((), jnp.float32) for name in SUMS}
        for batch in batches:
            grads, sums = self._accumulate(grads, sums, state.params, self._reference, batch)
        state, norm = self._apply(state, grads)
        metrics = {name: float(value) for name, value in sums.items()}
        return state, {**metrics, "grad_norm": float(norm)}


SUMS = ("loss", "clip_share", "kl", "entropy", "ratio")


def policy_loss(
    graph: nnx.GraphDef[Decoder],
    settings: config.Objective,
    params: nnx.State,
    reference: nnx.State | None,
    batch: MicroBatch,
) -> tuple[Float[Array, ""], Sums]:
    """This micro-batch's share of the loss, and of the weighted means in `SUMS`."""
    arguments = (batch.context, batch.context_length, batch.member)
    log_probs, entropy = completion_log_probs(nnx.merge(graph, params), *arguments)
    reference_log_probs = None
    if reference is not None:
        reference_log_probs = jax.lax.stop_gradient(completion_log_probs(nnx.merge(graph, reference), *arguments)[0])
    weight = objective.token_weights(batch.weight, batch.length, batch.member.shape[-1])
    loss, diagnostics = objective.policy_loss(
        log_probs,
        batch.old_log_probs,
        batch.advantage,
        weight,
        clip_low=settings.clip_low,
        clip_high=settings.clip_high,
        kl_coefficient=settings.kl_coefficient,
        reference_log_probs=reference_log_probs,
    )
    return loss, {**diagnostics, "loss": loss, "entropy": jnp.sum(weight * entropy)}


def bucket_of(length: int, buckets: Sequence[int]) -> int:
    """The smallest bucket that holds `length`."""
    return int(next(bucket for bucket in buckets if bucket >= length))


def finite(metrics: dict[str, float]) -> str | None:
    """The name of the first metric that is not a finite number, or None."""
    return next((name for name, value in metrics.items() if not np.isfinite(value)), None)
