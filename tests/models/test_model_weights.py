"""Hugging Face folders: round trips to the byte, and every way in which a folder can be broken."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from murphy_jax import models
from murphy_jax.errors import UserError
from murphy_jax.models.weights import DType
from tests.models.tiny import make_decoder

GOLDENS = Path(__file__).parent / "goldens"
WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"


def tensors_of(folder: Path) -> dict[str, np.ndarray]:
    return {name: tensor for file in sorted(folder.glob("*.safetensors")) for name, tensor in load_file(file).items()}


def assert_same_bytes(left: dict[str, np.ndarray], right: dict[str, np.ndarray]) -> None:
    assert left.keys() == right.keys()
    for name, tensor in left.items():
        assert tensor.dtype == right[name].dtype
        assert tensor.shape == right[name].shape
        assert tensor.tobytes() == right[name].tobytes(), name


@pytest.mark.parametrize("name", ["tied", "untied"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_checkpoint_comes_back_byte_for_byte(name: str, dtype: DType, tmp_path: Path) -> None:
    original = {key: tensor.astype(jnp.dtype(dtype)) for key, tensor in tensors_of(GOLDENS / name).items()}
    start, back = tmp_path / "start", tmp_path / "back"
    start.mkdir()
    save_file(original, start / WEIGHTS)
    shutil.copy(GOLDENS / name / "config.json", start)
    models.save(models.load(start), back, dtype=dtype)
    assert_same_bytes(tensors_of(back), original)
    with safe_open(back / WEIGHTS, framework="numpy") as handle:
        assert handle.metadata() == {"format": "pt"}
    assert models.load(back).config == models.load(GOLDENS / name).config


@pytest.mark.parametrize("tied", [True, False])
def test_a_decoder_comes_back_from_a_folder_unchanged(tied: bool, tmp_path: Path) -> None:
    model = make_decoder(tied=tied)
    models.save(model, tmp_path / "deep" / "folder")
    loaded = models.load(tmp_path / "deep" / "folder", dtype="bfloat16")
    assert loaded.config == model.config
    assert loaded.dtype == jnp.bfloat16
    for got, expected in zip(jax.tree.leaves(loaded), jax.tree.leaves(model), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_parameters_take_the_type_asked_for(tmp_path: Path) -> None:
    models.save(make_decoder(), tmp_path)
    loaded = models.load(tmp_path, dtype="bfloat16", param_dtype="bfloat16")
    assert {leaf.dtype for leaf in jax.tree.leaves(loaded)} == {jnp.dtype(jnp.bfloat16)}
    models.save(loaded, tmp_path / "again", dtype="bfloat16")
    assert json.loads((tmp_path / "again" / "config.json").read_text())["dtype"] == "bfloat16"


def test_shards_and_a_single_file_give_the_same_decoder(tmp_path: Path) -> None:
    assert (GOLDENS / "untied" / INDEX).exists()
    save_file(tensors_of(GOLDENS / "untied"), tmp_path / WEIGHTS)
    shutil.copy(GOLDENS / "untied" / "config.json", tmp_path)
    pairs = zip(jax.tree.leaves(models.load(GOLDENS / "untied")), jax.tree.leaves(models.load(tmp_path)), strict=True)
    for got, expected in pairs:
        np.testing.assert_array_equal(got, expected)


def test_a_tied_checkpoint_may_carry_the_same_unembedding_but_no_other(tmp_path: Path) -> None:
    models.save(make_decoder(tied=True), tmp_path)
    tensors = load_file(tmp_path / WEIGHTS)
    tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"].copy()
    save_file(tensors, tmp_path / WEIGHTS)
    assert models.load(tmp_path).unembedding is None
    tensors["lm_head.weight"][0, 0] += 1
    save_file(tensors, tmp_path / WEIGHTS)
    with pytest.raises(UserError, match=r"lm_head\.weight differs .* tie_word_embeddings"):
        models.load(tmp_path)


def edit_tensors(edit: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        tensors = load_file(folder / WEIGHTS)
        edit(tensors)
        save_file(tensors, folder / WEIGHTS)

    return change


def edit_text(name: str, edit: Callable[[str], str]) -> Callable[[Path], None]:
    return lambda folder: edit_file(folder / name, lambda content: edit(content.decode()).encode())


def edit_file(file: Path, edit: Callable[[bytes], bytes]) -> None:
    file.write_bytes(edit(file.read_bytes()))


NORM = "model.layers.1.self_attn.q_norm.weight"
BROKEN: dict[str, tuple[Callable[[Path], None], str]] = {
    "a missing tensor": (edit_tensors(lambda tensors: tensors.pop(NORM)), f"{NORM} is missing"),
    "an extra tensor": (
        edit_tensors(lambda tensors: tensors.update({"model.layers.0.self_attn.q_proj.bias": np.zeros(3, np.float32)})),
        rf"{WEIGHTS}: the tensor model\.layers\.0\.self_attn\.q_proj\.bias has no place",
    ),
    "a layer too many": (
        edit_tensors(lambda tensors: tensors.update({"model.layers.3.mlp.up_proj.weight": np.zeros(3, np.float32)})),
        r"model\.layers\.3\.mlp\.up_proj\.weight has no place",
    ),
    "an unembedding in an untied model": (
        edit_text(
            "config.json", lambda text: text.replace('"tie_word_embeddings": true', '"tie_word_embeddings": false')
        ),
        r"lm_head\.weight is missing",
    ),
    "a misshapen tensor": (
        edit_tensors(lambda tensors: tensors.update({NORM: np.zeros(5, np.float32)})),
        rf"{WEIGHTS}: the tensor {NORM} has shape \[5\]; config\.json asks for \[6\]",
    ),
    "a quantised tensor": (
        edit_tensors(lambda tensors: tensors.update({NORM: np.zeros(6, np.int8)})),
        rf"{WEIGHTS}: the tensor {NORM} is I8",
    ),
    "a truncated file": (
        lambda folder: edit_file(folder / WEIGHTS, lambda content: content[:-9]),
        f"{WEIGHTS}: .* truncated",
    ),
    "an empty file": (lambda folder: edit_file(folder / WEIGHTS, lambda _: b""), f"{WEIGHTS}: .* truncated"),
    "no weights": (lambda folder: (folder / WEIGHTS).unlink(), f"neither {WEIGHTS} nor {INDEX}"),
    "no config": (lambda folder: (folder / "config.json").unlink(), r"config\.json: the file is missing"),
    "a config that is not JSON": (
        edit_text("config.json", lambda text: text[:-5]),
        r"config\.json: not readable as JSON",
    ),
    "a config that is a list": (edit_text("config.json", lambda _: "[]"), r"config\.json: must hold a JSON object"),
    "a config of another model": (
        edit_text("config.json", lambda text: text.replace('"qwen3"', '"mamba"')),
        "model_type is 'mamba'",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_folder_is_refused_naming_file_and_tensor(case: str, tmp_path: Path) -> None:
    break_it, message = BROKEN[case]
    models.save(make_decoder(tied=True), tmp_path)
    break_it(tmp_path)
    with pytest.raises(UserError, match=message) as caught:
        models.load(tmp_path)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


BROKEN_SHARDS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a missing shard": (
        lambda folder: (folder / "model-00002-of-00004.safetensors").unlink(),
        r"model-00002-of-00004\.safetensors: the file is missing",
    ),
    "a truncated shard": (
        lambda folder: edit_file(folder / "model-00003-of-00004.safetensors", lambda content: content[:1000]),
        r"model-00003-of-00004\.safetensors: .* truncated",
    ),
    "an index that points into the wrong shard": (
        edit_text(INDEX, lambda text: text.replace("model-00001-of", "model-00002-of")),
        rf"model-00002-of-00004\.safetensors: the tensor .* is missing, though {INDEX}",
    ),
    "an index without a map": (edit_text(INDEX, lambda _: "{}"), f"{INDEX}: weight_map is missing"),
    "an index that is cut off": (edit_text(INDEX, lambda text: text[:100]), f"{INDEX}: not readable as JSON"),
}


@pytest.mark.parametrize("case", BROKEN_SHARDS)
def test_broken_shards_are_refused_naming_the_file(case: str, tmp_path: Path) -> None:
    break_it, message = BROKEN_SHARDS[case]
    folder = tmp_path / "model"
    shutil.copytree(GOLDENS / "untied", folder)
    break_it(folder)
    with pytest.raises(UserError, match=message):
        models.load(folder)


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        models.save(make_decoder(), tmp_path / "file")


def test_a_failed_save_leaves_the_weights_that_were_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models.save(make_decoder(seed=1), tmp_path)
    before = (tmp_path / WEIGHTS).read_bytes()

    def full_disk(_tensors: object, file: Path, **_options: object) -> None:
        file.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("murphy_jax.models.weights.save_file", full_disk)
    with pytest.raises(UserError, match="No space left on device"):
        models.save(make_decoder(seed=2), tmp_path)
    assert (tmp_path / WEIGHTS).read_bytes() == before
