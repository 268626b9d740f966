"""Decoder <-> Hugging Face folder: `config.json` and `model.safetensors`, or shards with an index.

    model.layers.{i}.self_attn.q_proj.weight  [out, in]   <->   layers.query.kernel[i]  [in, out]

Every tensor of the checkpoint is used and every parameter is filled, or the folder is refused. A tied checkpoint may
carry its `lm_head.weight` too, as long as it equals the embedding. Writes one file, unsharded. Knows no tokenizer, no
optimizer state, no `.bin` files.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from murphy_jax.errors import UserError
from murphy_jax.models import qwen3
from murphy_jax.models.config import ModelConfig
from murphy_jax.models.decoder import Decoder

DType = Literal["float32", "bfloat16"]
ParameterPath = tuple[str, ...]

_SINGLE = "model.safetensors"
_INDEX = "model.safetensors.index.json"
_EMBEDDING = "model.embed_tokens.weight"
_UNEMBEDDING = "lm_head.weight"
_READABLE = ("F32", "BF16", "F16")


def load(folder: str | Path, *, dtype: DType = "float32", param_dtype: DType = "float32") -> Decoder:
    """Read a folder.

    Args:
        folder: holds `config.json` and the weights.
        dtype: type of the arithmetic.
        param_dtype: type of the parameters, whatever the type of the saved tensors.

    Raises:
        UserError: naming the file and the tensor that is missing, unknown, misshapen or unreadable.
    """
    folder = Path(folder)
    config = read_config(folder)
    graph, abstract = nnx.split(nnx.eval_shape(lambda: Decoder(config, rngs=nnx.Rngs(0), dtype=dtype)))
    shapes = {path: variable.shape for path, variable in nnx.to_flat_state(abstract)}
    files = _files_by_tensor(folder)
    _check_names(folder, files, [name for path in shapes for name in _tensor_names(path, config)], config)
    handles = {file: _open(file) for file in sorted(set(files.values()))}

    def read(name: str, shape: tuple[int, ...]) -> np.ndarray:
        return _read_tensor(handles[files[name]], files[name], name, shape)

    filled = {}
    for path, shape in shapes.items():
        parts = [
            _transposed(path, read(name, _saved_shape(path, shape))).astype(jnp.dtype(param_dtype))
            for name in _tensor_names(path, config)
        ]
        filled[path] = nnx.Param(jnp.asarray(np.stack(parts) if path[0] == "layers" else parts[0]))
    if config.tied_embeddings and _UNEMBEDDING in files:
        _check_tie(files[_UNEMBEDDING], *(read(name, shapes[("embedding",)]) for name in (_EMBEDDING, _UNEMBEDDING)))
    return nnx.merge(graph, nnx.from_flat_state(list(filled.items())))


def save(model: Decoder, folder: str | Path, *, dtype: DType = "float32") -> None:
    """Write `config.json` and `model.safetensors`, tensors as `dtype`; the weights appear complete or not at all.

    Raises:
        UserError: the folder cannot be written.
    """
    folder = Path(folder)
    tensors: dict[str, np.ndarray] = {}
    for path, variable in nnx.to_flat_state(nnx.state(model, nnx.Param)):
        value = np.asarray(jax.device_get(variable[...])).astype(jnp.dtype(dtype))
        parts = list(value) if path[0] == "layers" else [value]
        for name, part in zip(_tensor_names(path, model.config), parts, strict=True):
            tensors[name] = np.ascontiguousarray(_transposed(path, part))
    partial = folder / f"{_SINGLE}.partial"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        save_file(tensors, partial, metadata={"format": "pt"})
        partial.replace(folder / _SINGLE)
        (folder / "config.json").write_text(json.dumps(model.config.to_hf(dtype=dtype), indent=2) + "\n")
    except (OSError, SafetensorError) as error:
        raise UserError(f"{folder}: the model cannot be written there: {error}") from error


def read_config(folder: str | Path) -> ModelConfig:
    """The sizes in a folder's `config.json`.

    Raises:
        UserError: the file is missing, is not JSON, or describes a model that is not supported.
    """
    mapping = _read_json(Path(folder) / "config.json")
    try:
        return ModelConfig.from_hf(mapping)
    except UserError as error:
        raise UserError(f"{folder}: {error}") from error


def _tensor_names(path: ParameterPath, config: ModelConfig) -> list[str]:
    """Names of the tensors that fill a parameter: one, or one a layer."""
    match path:
        case ("embedding",):
            return [_EMBEDDING]
        case ("unembedding",):
            return [_UNEMBEDDING]
        case ("final_norm", "weight"):
            return ["model.norm.weight"]
        case ("layers", *inner):
            return [f"model.layers.{i}.{qwen3.LAYER_TENSORS[tuple(inner)]}" for i in range(config.num_layers)]
        case _:
            raise AssertionError(f"no tensor is named for the parameter {path}")


def _transposed(path: ParameterPath, matrix: np.ndarray) -> np.ndarray:
    """Hugging Face stores linear maps as [out, in]."""
    return matrix.T if path[-1] in ("kernel", "unembedding") else matrix


def _saved_shape(path: ParameterPath, shape: tuple[int, ...]) -> tuple[int, ...]:
    single = shape[1:] if path[0] == "layers" else shape
    return single[::-1] if path[-1] in ("kernel", "unembedding") else single


def _files_by_tensor(folder: Path) -> dict[str, Path]:
    """Which file holds each tensor: the index's map, or the names in the only file."""
    if (folder / _SINGLE).exists():
        return dict.fromkeys(_open(folder / _SINGLE).keys(), folder / _SINGLE)
    if not (folder / _INDEX).exists():
        raise UserError(f"{folder}: there is neither {_SINGLE} nor {_INDEX}; give a folder with safetensors weights")
    weight_map = _read_json(folder / _INDEX).get("weight_map")
    if not isinstance(weight_map, Mapping) or not all(isinstance(file, str) for file in weight_map.values()):
        raise UserError(f"{folder / _INDEX}: weight_map is missing or does not map tensors to files")
    return {name: folder / file for name, file in weight_map.items()}


def _check_names(folder: Path, files: Mapping[str, Path], expected: list[str], config: ModelConfig) -> None:
    allowed = {*expected, _UNEMBEDDING} if config.tied_embeddings else set(expected)
    for name in expected:
        if name not in files:
            raise UserError(f"{folder}: the tensor {name} is missing from the weights")
    for name, file in files.items():
        if name not in allowed:
            raise UserError(f"{file}: the tensor {name} has no place in a {config.family} model of this config.json")


def _check_tie(file: Path, embedding: np.ndarray, unembedding: np.ndarray) -> None:
    if not np.array_equal(embedding, unembedding):
        raise UserError(
            f"{file}: {_UNEMBEDDING} differs from {_EMBEDDING}, but config.json ties them; "
            "set tie_word_embeddings to false there, or remove the tensor"
        )


def _open(file: Path) -> Any:
    try:
        return safe_open(file, framework="numpy")
    except FileNotFoundError as error:
        raise UserError(f"{file}: the file is missing") from error
    except (OSError, SafetensorError) as error:
        raise UserError(f"{file}: not a readable safetensors file, perhaps truncated: {error}") from error


def _read_tensor(handle: Any, file: Path, name: str, shape: tuple[int, ...]) -> np.ndarray:
    try:
        header = handle.get_slice(name)
    except SafetensorError as error:
        raise UserError(f"{file}: the tensor {name} is missing, though {_INDEX} places it there") from error
    if tuple(header.get_shape()) != shape:
        raise UserError(f"{file}: the tensor {name} has shape {header.get_shape()}; config.json asks for {list(shape)}")
    if header.get_dtype() not in _READABLE:
        raise UserError(f"{file}: the tensor {name} is {header.get_dtype()}; allowed are {', '.join(_READABLE)}")
    return np.asarray(handle.get_tensor(name))


def _read_json(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UserError(f"{file}: the file is missing") from error
    except (OSError, ValueError) as error:
        raise UserError(f"{file}: not readable as JSON: {error}") from error
    if not isinstance(content, dict):
        raise UserError(f"{file}: must hold a JSON object")
    return content
