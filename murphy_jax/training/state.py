"""What an update changes: parameters, optimizer state, step; and the optimizer itself, from optax."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import nnx
from jaxtyping import Array, Int

from murphy_jax import config


@jax.tree_util.register_dataclass
@dataclass(frozen=True, kw_only=True)
class TrainState:
    """Everything that an update changes.

    Attributes:
        params: float32 parameters of the policy.
        opt_state: state of the optax transformation.
        step: training steps done.
    """

    params: nnx.State
    opt_state: Any
    step: Int[Array, ""]


def make_optimizer(settings: config.Optimizer, *, total_steps: int) -> optax.GradientTransformation:
    """AdamW behind a clip of the global gradient norm; `total_steps` counts optimizer steps."""
    return optax.chain(
        optax.clip_by_global_norm(settings.max_grad_norm),
        optax.adamw(
            make_schedule(settings, total_steps=total_steps),
            b1=settings.b1,
            b2=settings.b2,
            eps=settings.eps,
            weight_decay=settings.weight_decay,
        ),
    )


def make_schedule(settings: config.Optimizer, *, total_steps: int) -> optax.Schedule:
    """Learning rate by optimizer step: linear warm-up, then constant or a decay to 0 at `total_steps`."""
    peak, warmup = settings.learning_rate, settings.warmup_steps
    decay_steps = max(1, total_steps - warmup)
    match settings.schedule:
        case "constant":
            after = optax.constant_schedule(peak)
        case "linear":
            after = optax.linear_schedule(peak, 0.0, decay_steps)
        case "cosine":
            after = optax.cosine_decay_schedule(peak, decay_steps)
    return optax.join_schedules([optax.linear_schedule(0.0, peak, max(1, warmup)), after], [warmup])


def init_state(params: nnx.State, optimizer: optax.GradientTransformation) -> TrainState:
    """The state before the first step."""
    return TrainState(params=params, opt_state=optimizer.init(params), step=jnp.zeros((), jnp.int32))


def num_updates(state: TrainState) -> int:
    """Optimizer steps done: what the schedule goes by. A training step whose groups are all dead makes none."""
    counts = optax.tree.get_all_with_path(state.opt_state, "count")
    return int(counts[0][1])
