"""Log-probabilities of completions in the sibling-group layout, without ever holding `[rows, length, vocabulary]`.

    member token 0 is predicted by the context's last position, token t by member position t - 1

Logits are made, reduced and dropped in chunks of positions; the backward pass makes them again.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from murphy_jax.models import decoder


def completion_log_probs(
    model: decoder.Decoder,
    context: Int[Array, "B C"],
    context_length: Int[Array, " B"],
    member: Int[Array, "B G T"],
    *,
    chunk: int = 1024,
) -> tuple[Float[Array, "B G T"], Float[Array, "B G T"]]:
    """Log-probability of every member token, and the entropy of the distribution it was drawn from, in nats.

    Args:
        model: the policy.
        context: token ids, right-padded.
        context_length: valid tokens of each context.
        member: token ids of the completions, right-padded; what stands after a completion's end is ignored.
        chunk: positions whose logits exist at a time.
    """
    context_hidden, member_hidden = decoder.encode_groups(model, context, context_length, member)
    first = jnp.broadcast_to(context_hidden[:, None, None], (*member.shape[:2], 1, context_hidden.shape[-1]))
    hidden = jnp.concatenate([first, member_hidden[:, :, :-1]], axis=2)
    positions = member.size
    padding = -positions % min(chunk, positions)
    rows = jnp.pad(hidden.reshape(positions, -1), ((0, padding), (0, 0)))
    targets = jnp.pad(member.reshape(positions), (0, padding))

    @jax.checkpoint
    def of_chunk(inputs: tuple[Array, Array]) -> tuple[Array, Array]:
        logits = decoder.unembed(model, inputs[0])
        log_probs = jax.nn.log_softmax(logits, axis=-1)
        picked = jnp.take_along_axis(log_probs, inputs[1][:, None], axis=-1)[:, 0]
        entropy = -jnp.sum(jnp.exp(log_probs) * log_probs, axis=-1)
        return picked, jax.lax.stop_gradient(entropy)

    size = min(chunk, positions)
    log_probs, entropy = jax.lax.map(of_chunk, (rows.reshape(-1, size, rows.shape[-1]), targets.reshape(-1, size)))
    return tuple(x.reshape(-1)[:positions].reshape(member.shape) for x in (log_probs, entropy))
