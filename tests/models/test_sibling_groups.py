"""`encode_groups`, `prefill` and `decode` against `forward` over G plain rows of context + completion."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import Array, Float, Int

from murphy_jax.models import Decoder, cache, decoder
from tests.models.tiny import CONFIG, make_decoder, make_tokens

TOLERANCE = 1e-5  # float32, hidden states of unit scale; gradients relative to the tensor's largest entry
BFLOAT16_TOLERANCE = 0.15  # a few roundings of 2^-8 on values up to 4
LENGTHS = (7, 4, 1)


def groups(
    *, seed: int = 0, group_size: int = 2, max_tokens: int = 5
) -> tuple[Int[Array, "B C"], Int[Array, " B"], Int[Array, "B G T"]]:
    context = make_tokens(len(LENGTHS), max(LENGTHS), seed=seed)
    return context, jnp.asarray(LENGTHS, jnp.int32), make_tokens(len(LENGTHS), group_size, max_tokens, seed=seed + 1)


def row_wise(
    model: Decoder, context: Int[Array, "B C"], length: Int[Array, " B"], member: Int[Array, "B G T"]
) -> tuple[Float[Array, "B W"], Float[Array, "B G T W"]]:
    """The same hidden states from G plain rows a group, context and completion side by side, padding behind."""
    num_context, group_size, max_tokens = context.shape[1], *member.shape[1:]
    slot = jnp.arange(num_context + max_tokens)[None, :]
    into_member = jnp.clip(slot - length[:, None], 0, max_tokens - 1)
    completion = jnp.take_along_axis(member, jnp.tile(into_member[:, None, :], (1, group_size, 1)), axis=2)
    prompt = jnp.pad(context, ((0, 0), (0, max_tokens)))[:, None, :]
    row = jnp.where(slot[None] < length[:, None, None], prompt, completion)
    hidden = decoder.forward(model, row.reshape(-1, row.shape[-1])).reshape(*row.shape, -1)
    last = hidden[jnp.arange(len(context)), 0, length - 1]
    at = length[:, None] + jnp.arange(max_tokens)[None, :]
    return last, jnp.take_along_axis(hidden, at[:, None, :, None], axis=2)


def log_prob_sum(
    model: Decoder, at_context: Float[Array, "B W"], at_member: Float[Array, "B G T W"], member: Int[Array, "B G T"]
) -> Float[Array, ""]:
    first = jnp.broadcast_to(at_context[:, None, None, :], (*member.shape[:2], 1, at_context.shape[-1]))
    logits = decoder.unembed(model, jnp.concatenate([first, at_member[:, :, :-1]], axis=2))
    return jnp.sum(jnp.take_along_axis(jax.nn.log_softmax(logits, axis=-1), member[..., None], axis=-1))


@pytest.mark.parametrize(("tied", "remat"), [(True, True), (False, False)])
def test_encoded_groups_equal_plain_rows(tied: bool, remat: bool) -> None:
    model, (context, length, member) = make_decoder(tied=tied), groups()
    ours = jax.jit(lambda model: decoder.encode_groups(model, context, length, member, remat=remat))(model)
    for got, expected in zip(ours, jax.jit(row_wise)(model, context, length, member), strict=True):
        assert np.abs(np.asarray(expected)).max() > 0.5
        np.testing.assert_allclose(got, expected, rtol=0, atol=TOLERANCE)


def test_the_gradient_of_the_log_probs_equals_that_of_plain_rows() -> None:
    model, (context, length, member) = make_decoder(tied=False), groups()

    def ours(model: Decoder) -> Float[Array, ""]:
        return log_prob_sum(model, *decoder.encode_groups(model, context, length, member), member)

    def theirs(model: Decoder) -> Float[Array, ""]:
        return log_prob_sum(model, *row_wise(model, context, length, member), member)

    (loss, gradient), (expected_loss, expected) = (jax.jit(jax.value_and_grad(f))(model) for f in (ours, theirs))
    np.testing.assert_allclose(loss, expected_loss, rtol=TOLERANCE)
    for got, wanted in zip(leaves(gradient), leaves(expected), strict=True):
        assert np.abs(wanted).max() > 0.1
        np.testing.assert_allclose(got, wanted, rtol=0, atol=TOLERANCE * np.abs(wanted).max())


def test_what_stands_in_the_padding_changes_neither_states_nor_gradients() -> None:
    model, (context, length, member) = make_decoder(), groups()
    padding = jnp.arange(context.shape[1])[None, :] >= length[:, None]
    member_length = 3

    def run(model: Decoder, filler: int) -> tuple[Array, tuple[Array, Array]]:
        padded_member = member.at[:, :, member_length:].set(filler)
        at_context, at_member = decoder.encode_groups(model, jnp.where(padding, filler, context), length, padded_member)
        valid = at_member[:, :, :member_length]
        return jnp.sum(at_context**2) + jnp.sum(valid**3), (at_context, valid)

    step = jax.jit(jax.value_and_grad(run, has_aux=True))
    first, second = step(model, 0), step(model, 40)
    for got, expected in zip(leaves(first), leaves(second), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_siblings_do_not_see_each_other_and_no_token_sees_the_future() -> None:
    model, (context, length, member) = make_decoder(), groups()
    encode = jax.jit(decoder.encode_groups)
    _, before = encode(model, context, length, member)
    changed = member.at[:, 1, 2].set((member[:, 1, 2] + 1) % CONFIG.vocab_size)
    _, after = encode(model, context, length, changed)
    before, after = np.asarray(before), np.asarray(after)
    np.testing.assert_array_equal(after[:, 0], before[:, 0])
    np.testing.assert_array_equal(after[:, 1, :2], before[:, 1, :2])
    assert np.all(np.abs(after[:, 1, 2:] - before[:, 1, 2:]).max(axis=-1) > TOLERANCE)


@settings(max_examples=3)
@given(seed=st.integers(0, 99), num_valid=st.integers(1, 6), group_size=st.integers(1, 3), num_tokens=st.integers(1, 4))
def test_any_shape_of_group_equals_plain_rows(seed: int, num_valid: int, group_size: int, num_tokens: int) -> None:
    model = make_decoder(seed=seed)
    context, member = make_tokens(1, 6, seed=seed), make_tokens(1, group_size, num_tokens, seed=seed + 1)
    length = jnp.asarray([num_valid], jnp.int32)
    ours = jax.jit(decoder.encode_groups)(model, context, length, member)
    for got, expected in zip(ours, jax.jit(row_wise)(model, context, length, member), strict=True):
        np.testing.assert_allclose(got, expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", TOLERANCE), ("bfloat16", BFLOAT16_TOLERANCE)])
def test_cached_decoding_equals_the_full_forward_at_every_position(dtype: str, tolerance: float) -> None:
    model = make_decoder(dtype="bfloat16" if dtype == "bfloat16" else "float32")
    context, length, member = groups(group_size=3)
    last, context_cache = jax.jit(decoder.prefill)(model, context, length)
    expected_last, expected = jax.jit(row_wise)(model, context, length, member)
    assert distance(last, expected_last) < tolerance
    for step, hidden in enumerate(decode_all(model, context_cache, member)):
        assert hidden.dtype == model.dtype
        assert distance(hidden, expected[:, :, step]) < tolerance


def leaves(tree: object) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


def distance(left: Float[Array, "..."], right: Float[Array, "..."]) -> float:
    return float(np.abs(np.asarray(left, np.float32) - np.asarray(right, np.float32)).max())


def decode_all(model: Decoder, context: cache.ContextCache, member: Int[Array, "B G T"]) -> list[Float[Array, "B G W"]]:
    num_groups, group_size, max_tokens = member.shape
    written = cache.init_member(
        model.config, num_groups=num_groups, group_size=group_size, max_tokens=max_tokens, dtype=model.dtype
    )
    unstacked, states, traced = decoder.unstack(model), [], []

    @jax.jit
    def decode(
        token: Int[Array, "B G"], step: Int[Array, ""], written: cache.MemberCache
    ) -> tuple[Float[Array, "B G W"], cache.MemberCache]:
        traced.append(token)
        return decoder.decode(unstacked, token, step, context, written)

    for step in range(max_tokens):
        hidden, written = decode(member[:, :, step], jnp.int32(step), written)
        states.append(hidden)
    assert len(traced) == 1
    return states


def test_a_greedy_decoding_loop_inside_jit_gives_the_tokens_of_the_full_forward() -> None:
    model, (context, length, member) = make_decoder(), groups()
    size = (len(LENGTHS), member.shape[1])

    def generate(model: Decoder, max_tokens: int) -> Int[Array, "B G"]:
        last, context_cache = decoder.prefill(model, context, length)
        unstacked = decoder.unstack(model)
        empty = cache.init_member(
            model.config, num_groups=size[0], group_size=size[1], max_tokens=max_tokens, dtype=model.dtype
        )
        first = jnp.broadcast_to(jnp.argmax(decoder.unembed(unstacked, last), axis=-1)[:, None], size)

        def body(carry: tuple[Array, Array, cache.MemberCache]) -> tuple[Array, Array, cache.MemberCache]:
            step, token, written = carry
            hidden, written = decoder.decode(unstacked, token, step, context_cache, written)
            return step + 1, jnp.argmax(decoder.unembed(unstacked, hidden), axis=-1).astype(jnp.int32), written

        carry = (jnp.int32(0), first.astype(jnp.int32), empty)
        return jax.lax.while_loop(lambda carry: carry[0] < max_tokens, body, carry)[1]

    tokens = jax.jit(generate, static_argnums=1)(model, 6)
    row = jnp.pad(context, ((0, 0), (0, 7)))
    next_logits = jax.jit(lambda row: decoder.unembed(model, decoder.forward(model, row)))
    for step in range(7):
        at = length + step
        drawn = jnp.argmax(next_logits(row)[jnp.arange(size[0]), at - 1], axis=-1)
        row = row.at[jnp.arange(size[0]), at].set(drawn.astype(jnp.int32))
    np.testing.assert_array_equal(tokens, jnp.tile(row[jnp.arange(size[0]), length + 6][:, None], (1, size[1])))
