"""Sample G completions for each of many contexts: prefill a context once, fan its members out, decode to the end.

    contexts by length -> buckets -> batches [B, C] -> one jitted program a (bucket, batch size) -> samples [B, G, T]

The next batch is dispatched before the last one is read, so the caller works on finished groups while the device
decodes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import chex
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Bool, Float, Int, Key

from murphy_jax.models import decoder
from murphy_jax.models.cache import MemberCache, init_member
from murphy_jax.rollout.sampling import SamplingParams, draw


@dataclass(frozen=True, kw_only=True)
class GroupRequest:
    """One context and the tree nodes to sample from it.

    Attributes:
        context: token ids of the context.
        nodes: a number for each of the G members; with the key it alone decides the member's randomness.
    """

    context: np.ndarray
    nodes: np.ndarray


@dataclass(frozen=True, kw_only=True)
class GroupSample:
    """G completions of one context, on the host.

    Attributes:
        tokens: int32 [G, T], valid up to `lengths`; a stop token, where there is one, is the last.
        log_probs: float32 [G, T] under the policy at temperature 1.
        behaviour_log_probs: float32 [G, T] under the distribution sampled from.
        lengths: int32 [G].
        stopped: bool [G], true where a stop token ended the completion, false where the length limit did.
    """

    tokens: np.ndarray
    log_probs: np.ndarray
    behaviour_log_probs: np.ndarray
    lengths: np.ndarray
    stopped: np.ndarray


@jax.tree_util.register_dataclass
@dataclass(frozen=True, kw_only=True)
class _Batch:
    context: Int[Array, "B C"]
    context_length: Int[Array, " B"]
    node: Int[Array, "B G"]
    active: Bool[Array, " B"]
    params: SamplingParams


@jax.tree_util.register_dataclass
@dataclass(frozen=True, kw_only=True)
class _State:
    """What a decode step changes; R = B G rows."""

    step: Int[Array, ""]
    hidden: Float[Array, "B G W"]
    cache: MemberCache
    done: Bool[Array, " R"]
    stopped: Bool[Array, " R"]
    length: Int[Array, " R"]
    tokens: Int[Array, "R T"]
    log_probs: Float[Array, "R T"]
    behaviour_log_probs: Float[Array, "R T"]


def generate(
    model: decoder.Decoder, key: Key[Array, ""], batch: _Batch, stop_ids: Int[Array, " N"], *, max_new_tokens: int
) -> _State:
    """Prefill a batch of contexts and decode all their members until each has stopped; a pure function for jit."""
    chex.assert_equal_shape_prefix([batch.context, batch.node], 1)
    groups, members = batch.node.shape
    rows = groups * members
    hidden, context_cache = decoder.prefill(model, batch.context, batch.context_length)
    unstacked = decoder.unstack(model)
    node_key = jax.vmap(jax.random.fold_in, in_axes=(None, 0))(key, batch.node.reshape(rows))
    done = jnp.repeat(~batch.active, members, total_repeat_length=rows)

    def step(state: _State) -> _State:
        logits = decoder.unembed(unstacked, state.hidden).reshape(rows, -1)
        token_key = jax.vmap(jax.random.fold_in, in_axes=(0, None))(node_key, state.step)
        drawn = draw(token_key, logits, batch.params)
        is_stop = (drawn.token[:, None] == stop_ids[None, :]).any(axis=-1)
        hidden, cache = decoder.decode(
            unstacked, drawn.token.reshape(groups, members), state.step, context_cache, state.cache
        )
        return _State(
            step=state.step + 1,
            hidden=hidden,
            cache=cache,
            done=state.done | is_stop,
            stopped=state.stopped | (is_stop & ~state.done),
            length=state.length + (~state.done).astype(jnp.int32),
            tokens=state.tokens.at[:, state.step].set(drawn.token),
            log_probs=state.log_probs.at[:, state.step].set(drawn.log_prob),
            behaviour_log_probs=state.behaviour_log_probs.at[:, state.step].set(drawn.behaviour_log_prob),
        )

    start = _State(
        step=jnp.zeros((), jnp.int32),
        hidden=jnp.broadcast_to(hidden[:, None], (groups, members, hidden.shape[-1])),
        cache=init_member(
            model.config, num_groups=groups, group_size=members, max_tokens=max_new_tokens, dtype=hidden.dtype
        ),
        done=done,
        stopped=jnp.zeros(rows, bool),
        length=jnp.zeros(rows, jnp.int32),
        tokens=jnp.zeros((rows, max_new_tokens), jnp.int32),
        log_probs=jnp.zeros((rows, max_new_tokens), jnp.float32),
        behaviour_log_probs=jnp.zeros((rows, max_new_tokens), jnp.float32),
    )
    return jax.lax.while_loop(lambda s: (s.step < max_new_tokens) & ~s.done.all(), step, start)


class Sampler:
    """Samples sibling groups with a bounded number of compiled programs: one a (context bucket, batch size)."""

    def __init__(
        self,
        graph: nnx.GraphDef[decoder.Decoder],
        *,
        group_size: int,
        groups_per_batch: int,
        context_buckets: Sequence[int],
        max_new_tokens: int,
        stop_ids: Sequence[int],
    ) -> None:
        assert stop_ids, "a policy without a stop id never ends a completion by itself"
        self._group_size = group_size
        self._buckets = tuple(context_buckets)
        self._batch_sizes = tuple(sorted({max(1, groups_per_batch // 4), groups_per_batch}))
        self._stop_ids = jnp.asarray(stop_ids, jnp.int32)
        self.num_programs = 0  # compiled so far

        def run(params: nnx.State, key: Key[Array, ""], batch: _Batch, stop_ids: Int[Array, " N"]) -> tuple[Array, ...]:
            self.num_programs += 1  # when traced, not when run
            state = generate(nnx.merge(graph, params), key, batch, stop_ids, max_new_tokens=max_new_tokens)
            return state.tokens, state.log_probs, state.behaviour_log_probs, state.length, state.stopped

        self._run = jax.jit(run)

    @property
    def max_programs(self) -> int:
        """The most programs that this sampler ever compiles."""
        return len(self._buckets) * len(self._batch_sizes)

    def sample(
        self,
        params: nnx.State,
        key: Key[Array, ""],
        requests: Sequence[GroupRequest],
        *,
        temperature: float,
        top_k: int = 0,
        top_p: float = 1.0,
    ) -> Iterator[tuple[int, GroupSample]]:
        """Yield (index of the request, its sample), batch by batch, shortest contexts first."""
        pending: tuple[list[int], tuple[Array, ...]] | None = None
        settings = partial(_settings, temperature=temperature, top_k=top_k, top_p=top_p)
        for indices, bucket, size in self._batches(requests):
            batch = self._pack([requests[i] for i in indices], bucket, size, settings(size * self._group_size))
            dispatched = (indices, self._run(params, key, batch, self._stop_ids))
            if pending is not None:
                yield from self._unpack(*pending)
            pending = dispatched
        if pending is not None:
            yield from self._unpack(*pending)

    def _batches(self, requests: Sequence[GroupRequest]) -> Iterator[tuple[list[int], int, int]]:
        """(indices of requests, context bucket, batch size) of every batch."""
        assert all(0 < len(r.context) <= self._buckets[-1] for r in requests), "a context is empty or over the limit"
        order = sorted(range(len(requests)), key=lambda i: len(requests[i].context))
        largest = self._batch_sizes[-1]
        for low, high in zip((0, *self._buckets), self._buckets, strict=False):
            inside = [i for i in order if low < len(requests[i].context) <= high]
            for start in range(0, len(inside), largest):
                indices = inside[start : start + largest]
                yield indices, high, next(size for size in self._batch_sizes if size >= len(indices))

    def _pack(self, requests: Sequence[GroupRequest], bucket: int, size: int, params: SamplingParams) -> _Batch:
        context = np.zeros((size, bucket), np.int32)
        length = np.ones(size, np.int32)
        node = np.zeros((size, self._group_size), np.int32)
        for row, request in enumerate(requests):
            context[row, : len(request.context)] = request.context
            length[row] = len(request.context)
            node[row] = request.nodes
        active = np.arange(size) < len(requests)
        return _Batch(
            context=jnp.asarray(context),
            context_length=jnp.asarray(length),
            node=jnp.asarray(node),
            active=jnp.asarray(active),
            params=params,
        )

    def _unpack(self, indices: list[int], outputs: tuple[Array, ...]) -> Iterator[tuple[int, GroupSample]]:
        fields = ("tokens", "log_probs", "behaviour_log_probs", "lengths", "stopped")
        arrays = [np.asarray(x).reshape(-1, self._group_size, *x.shape[1:]) for x in outputs]
        for row, index in enumerate(indices):
            yield index, GroupSample(**{name: array[row] for name, array in zip(fields, arrays, strict=True)})


def _settings(rows: int, *, temperature: float, top_k: int, top_p: float) -> SamplingParams:
    return SamplingParams(
        temperature=jnp.full(rows, temperature, jnp.float32),
        top_k=jnp.full(rows, top_k, jnp.int32),
        top_p=jnp.full(rows, top_p, jnp.float32),
    )
