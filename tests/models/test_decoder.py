"""The decoder as a module: what it holds, the types it computes in, what it costs to trace and to differentiate."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from jaxtyping import Array, Float

from murphy_jax.models import Decoder, decoder
from tests.models.tiny import CONFIG, make_decoder, make_tokens


def test_every_layer_parameter_is_stacked_and_differs_between_layers() -> None:
    model = make_decoder()
    for leaf in jax.tree.leaves(model.layers):
        assert leaf.shape[0] == CONFIG.num_layers
    kernel = np.asarray(model.layers.mlp.gate.kernel[...])
    assert np.all(np.std(kernel[1:] - kernel[:-1], axis=(1, 2)) > CONFIG.initializer_range / 2)


def test_the_initial_weights_have_the_standard_deviation_of_the_config() -> None:
    model = make_decoder(tied=False)
    for name in ("query", "key", "value", "output"):
        kernel = np.asarray(getattr(model.layers, name).kernel[...])
        np.testing.assert_allclose(np.std(kernel), CONFIG.initializer_range, rtol=0.1)
    np.testing.assert_allclose(np.std(np.asarray(model.embedding[...])), CONFIG.initializer_range, rtol=0.1)


@pytest.mark.parametrize("tied", [True, False])
def test_the_number_of_parameters_follows_from_the_sizes(tied: bool) -> None:
    width, heads = CONFIG.hidden_size, CONFIG.num_heads * CONFIG.head_dim
    kv_heads = CONFIG.num_kv_heads * CONFIG.head_dim
    attention = 2 * width * heads + 2 * width * kv_heads + 2 * CONFIG.head_dim
    layer = attention + 3 * width * CONFIG.intermediate_size + 2 * width
    embeddings = (1 if tied else 2) * CONFIG.vocab_size * width
    expected = CONFIG.num_layers * layer + embeddings + width
    assert sum(leaf.size for leaf in jax.tree.leaves(make_decoder(tied=tied))) == expected


def test_bfloat16_computes_in_bfloat16_keeps_float32_parameters_and_gives_float32_logits() -> None:
    exact, rounded = make_decoder(), make_decoder(dtype="bfloat16")
    token = make_tokens(2, 6)

    def loss(model: Decoder) -> Float[Array, ""]:
        return jnp.sum(jax.nn.logsumexp(decoder.unembed(model, decoder.forward(model, token)), axis=-1))

    hidden = jax.eval_shape(decoder.forward, rounded, token)
    assert hidden.dtype == jnp.bfloat16
    assert jax.eval_shape(decoder.unembed, rounded, hidden).dtype == jnp.float32
    step = jax.jit(jax.value_and_grad(loss))
    (value, gradient), (expected_value, expected) = step(rounded), step(exact)
    np.testing.assert_allclose(value, expected_value, rtol=0.01)
    for got, wanted in zip(jax.tree.leaves(gradient), jax.tree.leaves(expected), strict=True):
        assert got.dtype == jnp.float32
        difference = np.asarray(got) - np.asarray(wanted)
        assert np.linalg.norm(difference) < 0.1 * np.linalg.norm(np.asarray(wanted))


def test_the_trainer_can_split_the_model_and_jit_over_its_parameters() -> None:
    model, token = make_decoder(), make_tokens(2, 5)
    graph, params = nnx.split(model, nnx.Param)

    traced = []

    @jax.jit
    def hidden(params: nnx.State) -> Float[Array, "B N W"]:
        traced.append(params)
        return decoder.forward(nnx.merge(graph, params), token)

    np.testing.assert_allclose(hidden(params), decoder.forward(model, token), rtol=0, atol=1e-5)
    hidden(jax.tree.map(lambda leaf: leaf + 1, params))
    assert len(traced) == 1


def test_decoders_of_one_config_share_a_compiled_program() -> None:
    traced = []

    @jax.jit
    def run(model: Decoder) -> Float[Array, "B N W"]:
        traced.append(model)
        return decoder.forward(model, make_tokens(1, 4))

    for seed in range(3):
        run(make_decoder(seed=seed))
    assert len(traced) == 1


def test_the_traced_program_does_not_grow_with_depth() -> None:
    def num_equations(num_layers: int) -> int:
        config = replace(CONFIG, num_layers=num_layers)
        model = nnx.eval_shape(lambda: Decoder(config, rngs=nnx.Rngs(0)))
        return str(jax.make_jaxpr(decoder.forward)(model, make_tokens(1, 4))).count("=")

    assert num_equations(2) == num_equations(5)


def test_recomputing_layers_keeps_less_for_the_backward_pass() -> None:
    model, context, member = make_decoder(), make_tokens(4, 48), make_tokens(4, 2, 16)
    length = jnp.full(4, 48, jnp.int32)

    def kept(remat: bool) -> int:
        def backward(model: Decoder) -> Any:
            return jax.vjp(lambda model: decoder.encode_groups(model, context, length, member, remat=remat), model)[1]

        return sum(leaf.size for leaf in jax.tree.leaves(jax.eval_shape(backward, model)))

    assert kept(True) < 0.3 * kept(False)


def test_unstacked_layers_are_the_slices_of_the_stacked_ones_in_the_type_of_the_arithmetic() -> None:
    model = make_decoder(dtype="bfloat16")
    unstacked = decoder.unstack(model)
    assert len(unstacked.layers) == CONFIG.num_layers
    assert {leaf.dtype for leaf in jax.tree.leaves(unstacked)} == {jnp.dtype(jnp.bfloat16)}
    expected = model.layers.query.kernel[...][1].astype(jnp.bfloat16)
    np.testing.assert_array_equal(unstacked.layers[1].query.kernel[...], expected)
