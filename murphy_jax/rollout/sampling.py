"""Draw the next token of many rows, each with its own temperature and filters.

    scaled = logits / temperature,    kept = top-k and top-p of softmax(scaled),    token ~ softmax(scaled | kept)

Temperature 0 is greedy. A row's token depends on its own key, logits and parameters alone, never on its batch mates.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key


@jax.tree_util.register_dataclass
@dataclass(frozen=True, kw_only=True)
class SamplingParams:
    """How each row is sampled.

    Attributes:
        temperature: 0 is greedy.
        top_k: number of most likely tokens kept, 0 keeps all.
        top_p: the smallest set of most likely tokens with at least this mass is kept, 1 keeps all.
    """

    temperature: Float[Array, " R"]
    top_k: Int[Array, " R"]
    top_p: Float[Array, " R"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True, kw_only=True)
class Draw:
    """One token a row.

    Attributes:
        token: the token drawn.
        log_prob: its log-probability at temperature 1 without filters, under the policy itself.
        behaviour_log_prob: its log-probability under the distribution it was drawn from.
    """

    token: Int[Array, " R"]
    log_prob: Float[Array, " R"]
    behaviour_log_prob: Float[Array, " R"]


def draw(key: Key[Array, " R"], logits: Float[Array, "R V"], params: SamplingParams) -> Draw:
    """Draw a token for each row of float32 `logits`, with one key a row."""
    greedy = params.temperature <= 0
    temperature = jnp.where(greedy, 1.0, params.temperature)[:, None]
    scaled = logits / temperature
    filtered = (params.top_k > 0) | (params.top_p < 1)
    kept_logits = jax.lax.cond(
        jnp.any(filtered & ~greedy),
        lambda: jnp.where(keep(scaled, top_k=params.top_k, top_p=params.top_p), scaled, -jnp.inf),
        lambda: scaled,
    )
    sampled = jax.vmap(jax.random.categorical)(key, kept_logits)
    token = jnp.where(greedy, jnp.argmax(logits, axis=-1), sampled)
    behaviour = _log_prob(kept_logits, token)
    return Draw(
        token=token.astype(jnp.int32),
        log_prob=_log_prob(logits, token),
        behaviour_log_prob=jnp.where(greedy, 0.0, behaviour),
    )


def keep(logits: Float[Array, "R V"], *, top_k: Int[Array, " R"], top_p: Float[Array, " R"]) -> Bool[Array, "R V"]:
    """Tokens that both filters keep; the most likely token is always kept, ties at the border are kept together."""
    vocabulary = logits.shape[-1]
    descending = jnp.flip(jnp.sort(logits, axis=-1), axis=-1)
    probability = jax.nn.softmax(descending, axis=-1)
    mass_before = jnp.cumsum(probability, axis=-1) - probability
    rank = jnp.arange(vocabulary)[None, :]
    limit = jnp.where(top_k > 0, top_k, vocabulary)[:, None]
    inside = (mass_before < top_p[:, None]) | (top_p[:, None] >= 1)
    kept = ((rank < limit) & inside) | (rank == 0)
    threshold = jnp.min(jnp.where(kept, descending, jnp.inf), axis=-1, keepdims=True)
    return logits >= threshold


def _log_prob(logits: Float[Array, "R V"], token: Int[Array, " R"]) -> Float[Array, " R"]:
    picked = jnp.take_along_axis(logits, token[:, None], axis=-1)[:, 0]
    return picked - jax.nn.logsumexp(logits, axis=-1)
