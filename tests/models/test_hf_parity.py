"""Qwen3 against torch: recorded numbers everywhere, a live comparison where torch is installed (make_goldens.py)."""

from importlib.util import find_spec
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from jaxtyping import Array, Float, Int
from safetensors.numpy import load_file

from murphy_jax import models
from murphy_jax.models import ModelConfig, cache, decoder
from murphy_jax.models.attention import attend_rows
from murphy_jax.models.layers import rotation

GOLDENS = Path(__file__).parent / "goldens"
LOGITS_TOLERANCE = 1e-4
HIDDEN_TOLERANCE = 1e-4
GRADIENT_TOLERANCE = 1e-3  # relative to the largest entry of the tensor
NAMES = ("tied", "untied")


def read(name: str) -> tuple[models.Decoder, dict[str, np.ndarray]]:
    return models.load(GOLDENS / name), dict(np.load(GOLDENS / f"{name}.npz"))


def keep(golden: dict[str, np.ndarray]) -> np.ndarray:
    return np.arange(golden["token"].shape[1])[None, :] < golden["length"][:, None]


def token_loss(model: models.Decoder, token: Int[Array, "B N"], kept: Float[Array, "B N"]) -> Float[Array, ""]:
    log_prob = jax.nn.log_softmax(decoder.unembed(model, decoder.forward(model, token))[:, :-1], axis=-1)
    picked = jnp.take_along_axis(log_prob, token[:, 1:, None], axis=-1)[..., 0]
    return -jnp.sum(picked * kept[:, 1:]) / jnp.maximum(jnp.sum(kept[:, 1:]), 1.0)


@pytest.mark.parametrize("name", NAMES)
def test_logits_equal_those_of_torch(name: str) -> None:
    model, golden = read(name)
    logits = decoder.unembed(model, decoder.forward(model, jnp.asarray(golden["token"])))
    assert logits.dtype == jnp.float32
    assert np.abs(golden["logits"]).max() > 1.0
    np.testing.assert_allclose(logits[keep(golden)], golden["logits"][keep(golden)], rtol=0, atol=LOGITS_TOLERANCE)


@pytest.mark.parametrize("name", NAMES)
def test_each_layer_alone_maps_the_hidden_states_of_torch_to_the_next(name: str) -> None:
    model, golden = read(name)
    config, kept, hidden = model.config, keep(golden), golden["hidden"]
    position = jnp.broadcast_to(jnp.arange(hidden.shape[2])[None, :], hidden.shape[1:3])
    angles = rotation(position, head_dim=config.head_dim, theta=config.rope_theta, dtype=jnp.float32)
    np.testing.assert_array_equal(model.embedding[...][golden["token"]], hidden[0])
    for index, layer in enumerate(decoder.unstack(model).layers):
        x = jnp.asarray(hidden[index])
        attended, _ = attend_rows(*layer.enter(x, *angles))
        behind = layer.leave(x, attended)
        if index == config.num_layers - 1:
            behind = model.final_norm(behind)
        np.testing.assert_allclose(behind[kept], hidden[index + 1][kept], rtol=0, atol=HIDDEN_TOLERANCE)


@pytest.mark.parametrize("name", NAMES)
def test_the_gradient_of_every_tensor_equals_that_of_torch(name: str, tmp_path: Path) -> None:
    model, golden = read(name)
    kept = jnp.asarray(keep(golden), jnp.float32)
    loss, gradient = jax.jit(jax.value_and_grad(token_loss))(model, jnp.asarray(golden["token"]), kept)
    np.testing.assert_allclose(loss, golden["loss"], rtol=0, atol=LOGITS_TOLERANCE)
    models.save(gradient, tmp_path)
    ours = load_file(tmp_path / "model.safetensors")
    theirs = {key.removeprefix("gradient/"): value for key, value in golden.items() if key.startswith("gradient/")}
    assert ours.keys() == theirs.keys()
    for tensor, expected in theirs.items():
        scale = np.abs(expected).max()
        assert scale > 0
        np.testing.assert_allclose(ours[tensor] / scale, expected / scale, atol=GRADIENT_TOLERANCE, err_msg=tensor)


@pytest.mark.parametrize("name", NAMES)
def test_greedy_decoding_with_the_cache_gives_the_tokens_of_torch(name: str) -> None:
    model, golden = read(name)
    expected = golden["greedy"]
    token, length = jnp.asarray(golden["token"]), jnp.asarray(golden["length"])
    last, context = jax.jit(decoder.prefill)(model, token, length)
    unstacked, step_fn = decoder.unstack(model), jax.jit(decoder.decode)
    member = cache.init_member(
        model.config, num_groups=len(token), group_size=1, max_tokens=expected.shape[1], dtype=jnp.float32
    )
    drawn = [jnp.argmax(decoder.unembed(model, last), axis=-1)[:, None].astype(jnp.int32)]
    for step in range(expected.shape[1] - 1):
        hidden, member = step_fn(unstacked, drawn[-1], jnp.int32(step), context, member)
        drawn.append(jnp.argmax(decoder.unembed(unstacked, hidden), axis=-1).astype(jnp.int32))
    np.testing.assert_array_equal(jnp.concatenate(drawn, axis=1), expected)


@pytest.mark.skipif(find_spec("torch") is None, reason="torch has a CPU wheel for Python 3.11 only; goldens cover 3.12")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("tied", [True, False])
def test_torch_reads_a_saved_folder_and_computes_the_same_logits(tied: bool, dtype: str, tmp_path: Path) -> None:
    import torch
    from transformers import Qwen3ForCausalLM

    config = ModelConfig(
        vocab_size=61,
        hidden_size=20,
        intermediate_size=28,
        num_layers=2,
        num_heads=6,
        num_kv_heads=3,
        head_dim=6,
        rope_theta=5000.0,
        rms_norm_eps=1e-5,
        tied_embeddings=tied,
        initializer_range=0.3,
        eos_token_ids=(3, 5),
    )
    models.save(
        models.Decoder(config, rngs=nnx.Rngs(7)), tmp_path, dtype="bfloat16" if dtype == "bfloat16" else "float32"
    )
    model = models.load(tmp_path)
    assert model.config == config
    theirs = Qwen3ForCausalLM.from_pretrained(tmp_path, dtype=torch.float32).eval()
    token = np.random.default_rng(0).integers(0, config.vocab_size, (2, 12)).astype(np.int32)
    with torch.no_grad():
        expected = theirs(input_ids=torch.from_numpy(token.astype(np.int64))).logits.numpy()
    logits = decoder.unembed(model, decoder.forward(model, jnp.asarray(token)))
    np.testing.assert_allclose(logits, expected, rtol=0, atol=LOGITS_TOLERANCE)
