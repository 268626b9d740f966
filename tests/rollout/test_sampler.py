"""The sampler: equal to the full forward, independent of batching, bounded in compiled programs."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from murphy_jax.models import Decoder, ModelConfig, decoder
from murphy_jax.rollout.sampler import GroupRequest, GroupSample, Sampler
from murphy_jax.training.log_probs import completion_log_probs

SIZES = ModelConfig(
    vocab_size=31, hidden_size=16, intermediate_size=24, num_layers=2, num_heads=4, num_kv_heads=2, head_dim=8,
    initializer_range=0.3,
)  # fmt: skip
GROUP, TIME = 3, 12


@pytest.fixture(scope="module")
def model() -> Decoder:
    return Decoder(SIZES, rngs=nnx.Rngs(0), dtype="float32")


@functools.cache
def sampler(
    model: Decoder, *, groups_per_batch: int = 4, stop: int = 30, buckets: tuple[int, ...] = (8, 16)
) -> Sampler:
    return Sampler(
        nnx.split(model)[0],
        group_size=GROUP,
        groups_per_batch=groups_per_batch,
        context_buckets=buckets,
        max_new_tokens=TIME,
        stop_ids=[stop],
    )


def requests(count: int, seed: int = 0) -> list[GroupRequest]:
    random = np.random.default_rng(seed)
    return [
        GroupRequest(
            context=random.integers(0, 30, random.integers(1, 17)).astype(np.int32),
            nodes=np.arange(GROUP) + index * GROUP,
        )
        for index in range(count)
    ]


def sample(
    sampler: Sampler, model: Decoder, requests: list[GroupRequest], *, temperature: float = 1.0
) -> dict[int, GroupSample]:
    params = nnx.split(model)[1]
    return dict(sampler.sample(params, jax.random.key(1), requests, temperature=temperature))


def test_greedy_decoding_is_the_argmax_of_the_full_forward(model: Decoder) -> None:
    asked = requests(5)
    rows, lengths = np.zeros((5, 16 + TIME), np.int32), np.zeros(5, np.int32)
    results = sample(sampler(model), model, asked, temperature=0.0)
    for index, result in results.items():
        sequence = np.concatenate([asked[index].context, result.tokens[0]])
        rows[index, : len(sequence)], lengths[index] = sequence, len(sequence)
    logits = jax.jit(lambda token: decoder.unembed(model, decoder.forward(model, token)))(rows)
    expected = np.asarray(logits).argmax(axis=-1)
    for index, result in results.items():
        first = len(asked[index].context) - 1
        for tokens, length in zip(result.tokens, result.lengths, strict=True):
            np.testing.assert_array_equal(tokens[:length], expected[index, first : first + length])


def test_a_nodes_tokens_do_not_depend_on_batching_or_buckets(model: Decoder) -> None:
    asked = requests(9)
    together = sample(sampler(model), model, asked)
    wide = sample(sampler(model, groups_per_batch=16, buckets=(32,)), model, asked)
    for index, request in enumerate(asked):
        alone = sample(sampler(model, groups_per_batch=1), model, [request])[0]
        for other in (together[index], wide[index]):
            np.testing.assert_array_equal(alone.lengths, other.lengths)
            for member, length in enumerate(alone.lengths):
                np.testing.assert_array_equal(alone.tokens[member, :length], other.tokens[member, :length])


def test_siblings_and_groups_draw_different_tokens(model: Decoder) -> None:
    same = [GroupRequest(context=np.arange(5, dtype=np.int32), nodes=np.arange(GROUP) + i * GROUP) for i in range(4)]
    rows = {tuple(row) for result in sample(sampler(model), model, same).values() for row in result.tokens.tolist()}
    assert len(rows) == 4 * GROUP


def test_log_probs_equal_a_recomputation_by_the_trainer(model: Decoder) -> None:
    asked = requests(4)
    for index, result in sample(sampler(model), model, asked).items():
        context = jnp.asarray(asked[index].context)[None]
        length = jnp.array([context.shape[1]])
        log_probs, entropy = completion_log_probs(model, context, length, jnp.asarray(result.tokens)[None], chunk=7)
        for member, valid in enumerate(result.lengths):
            np.testing.assert_allclose(log_probs[0, member, :valid], result.log_probs[member, :valid], atol=1e-4)
            np.testing.assert_allclose(result.log_probs[member], result.behaviour_log_probs[member], atol=1e-5)
        assert (np.asarray(entropy) > 0).all()


def test_a_completion_ends_with_its_stop_token_or_at_the_limit(model: Decoder) -> None:
    asked = requests(8)
    common = int(
        np.bincount(np.concatenate([r.tokens.ravel() for r in sample(sampler(model), model, asked).values()])).argmax()
    )
    results = sample(sampler(model, stop=common), model, asked).values()
    stopped = [bool(s) for r in results for s in r.stopped]
    assert any(stopped)
    for result in results:
        for tokens, length, ended in zip(result.tokens, result.lengths, result.stopped, strict=True):
            assert (tokens[:length] == common).sum() == int(ended)
            assert tokens[length - 1] == common if ended else length == TIME


def test_no_more_programs_are_compiled_than_buckets_allow(model: Decoder) -> None:
    tested = sampler(model, buckets=(8, 16))
    for count in (1, 2, 3, 5, 9):
        sample(tested, model, requests(count, seed=count), temperature=0.5 * count)
    assert 0 < tested.num_programs <= tested.max_programs == 4
