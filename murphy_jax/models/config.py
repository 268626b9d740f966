"""The sizes of a decoder, and their translation from and to the `config.json` of a Hugging Face folder.

An option of `config.json` that would change the computation and is not built here is refused by name, never ignored.
Nothing is defaulted that differs between checkpoints of one family.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from murphy_jax.errors import UserError

# Options that change the computation, each with the values under which it changes nothing.
_INERT_VALUES: Mapping[str, tuple[object, ...]] = {
    "use_sliding_window": (None, False),
    "rope_scaling": (None,),
    "attention_bias": (None, False),
    "attention_dropout": (None, 0),
    "quantization_config": (None,),
    "hidden_act": ("silu",),
}


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Sizes and constants of a decoder: hashable, so it can be static under `jax.jit`.

    Attributes:
        head_dim: width of one head; `num_heads * head_dim` need not be `hidden_size`.
        tied_embeddings: the unembedding is the transposed embedding.
        max_positions: the longest sequence the checkpoint is meant for; not enforced by the arithmetic.
        initializer_range: standard deviation of a random initialisation.
        bos_token_id: carried from folder to folder, unused by the arithmetic.
        eos_token_ids: the same, for the tokens that end a text.
        family: which wiring file builds the layer.
    """

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    rope_theta: float = 1_000_000.0
    rms_norm_eps: float = 1e-6
    tied_embeddings: bool = True
    max_positions: int = 32_768
    initializer_range: float = 0.02
    bos_token_id: int | None = None
    eos_token_ids: tuple[int, ...] = ()
    family: Literal["qwen3"] = "qwen3"

    def __post_init__(self) -> None:
        for name in ("vocab_size", "hidden_size", "intermediate_size", "num_layers", "num_heads", "num_kv_heads"):
            if getattr(self, name) < 1:
                raise UserError(f"{name} is {getattr(self, name)}; it must be at least 1")
        if self.num_heads % self.num_kv_heads:
            raise UserError(
                f"num_heads is {self.num_heads} and num_kv_heads is {self.num_kv_heads}; "
                "the first must be a multiple of the second"
            )
        if self.head_dim < 2 or self.head_dim % 2:
            raise UserError(f"head_dim is {self.head_dim}; rotary positions need an even number of at least 2")

    @classmethod
    def from_hf(cls, mapping: Mapping[str, Any]) -> "ModelConfig":
        """Read the mapping of a `config.json`, of transformers 4 or 5.

        Raises:
            UserError: for another architecture, an unsupported option, a missing key or a value of the wrong type.
        """
        if mapping.get("model_type") != "qwen3":
            raise UserError(f"config.json: model_type is {mapping.get('model_type')!r}; allowed is 'qwen3'")
        architectures = mapping.get("architectures") or ["Qwen3ForCausalLM"]
        if architectures != ["Qwen3ForCausalLM"]:
            raise UserError(f"config.json: architectures is {architectures!r}; allowed is ['Qwen3ForCausalLM']")
        _refuse_unsupported(mapping)
        return cls(
            vocab_size=_integer(mapping, "vocab_size"),
            hidden_size=_integer(mapping, "hidden_size"),
            intermediate_size=_integer(mapping, "intermediate_size"),
            num_layers=_integer(mapping, "num_hidden_layers"),
            num_heads=_integer(mapping, "num_attention_heads"),
            num_kv_heads=_integer(mapping, "num_key_value_heads"),
            head_dim=_integer(mapping, "head_dim"),
            rope_theta=_rope_theta(mapping),
            rms_norm_eps=_real(mapping, "rms_norm_eps"),
            tied_embeddings=_boolean(mapping, "tie_word_embeddings"),
            max_positions=_integer(mapping, "max_position_embeddings"),
            initializer_range=_real(mapping, "initializer_range") if "initializer_range" in mapping else 0.02,
            bos_token_id=None if mapping.get("bos_token_id") is None else _integer(mapping, "bos_token_id"),
            eos_token_ids=_token_ids(mapping, "eos_token_id"),
        )

    def to_hf(self, *, dtype: str = "float32") -> dict[str, Any]:
        """The `config.json` that transformers 4 and 5 both read; `dtype` names the type of the saved tensors."""
        eos = self.eos_token_ids[0] if len(self.eos_token_ids) == 1 else list(self.eos_token_ids) or None
        return {
            "architectures": ["Qwen3ForCausalLM"],
            "model_type": self.family,
            "vocab_size": self.vocab_size,
            "hidden_size": self.hidden_size,
            "intermediate_size": self.intermediate_size,
            "num_hidden_layers": self.num_layers,
            "num_attention_heads": self.num_heads,
            "num_key_value_heads": self.num_kv_heads,
            "head_dim": self.head_dim,
            "rope_theta": self.rope_theta,
            "rope_parameters": {"rope_type": "default", "rope_theta": self.rope_theta},
            "rms_norm_eps": self.rms_norm_eps,
            "tie_word_embeddings": self.tied_embeddings,
            "max_position_embeddings": self.max_positions,
            "initializer_range": self.initializer_range,
            "bos_token_id": self.bos_token_id,
            "eos_token_id": eos,
            "hidden_act": "silu",
            "attention_bias": False,
            "attention_dropout": 0.0,
            "use_sliding_window": False,
            "dtype": dtype,
            "torch_dtype": dtype,
        }


def _refuse_unsupported(mapping: Mapping[str, Any]) -> None:
    for option, inert in _INERT_VALUES.items():
        if option in mapping and mapping[option] not in inert:
            allowed = " or ".join(repr(value) for value in inert)
            raise UserError(
                f"config.json: {option} is {mapping[option]!r}, which is not supported; allowed is {allowed}"
            )
    for option in mapping:
        if "expert" in option and mapping[option]:
            raise UserError(f"config.json: {option} is {mapping[option]!r}; mixtures of experts are not supported")
    kinds = mapping.get("layer_types") or []
    if other := sorted(set(kinds) - {"full_attention"}):
        raise UserError(f"config.json: layer_types holds {other[0]!r}; allowed is 'full_attention'")


def _rope_theta(mapping: Mapping[str, Any]) -> float:
    """`rope_parameters` of transformers 5, or the `rope_theta` of earlier ones."""
    parameters = mapping.get("rope_parameters")
    if parameters is None:
        return _real(mapping, "rope_theta")
    if not isinstance(parameters, Mapping):
        raise UserError(f"config.json: rope_parameters is {parameters!r}; it must be a mapping")
    if parameters.get("rope_type", "default") != "default":
        raise UserError(
            f"config.json: rope_parameters.rope_type is {parameters['rope_type']!r}; "
            "scaled rotary positions are not supported, allowed is 'default'"
        )
    if parameters.get("partial_rotary_factor", 1.0) != 1.0:
        raise UserError(
            f"config.json: rope_parameters.partial_rotary_factor is {parameters['partial_rotary_factor']!r}; "
            "allowed is 1.0"
        )
    return _real(parameters, "rope_theta")


def _required(mapping: Mapping[str, Any], key: str) -> Any:
    if key not in mapping:
        raise UserError(f"config.json: {key} is missing; the folder must hold a complete Hugging Face config")
    return mapping[key]


def _integer(mapping: Mapping[str, Any], key: str) -> int:
    value = _required(mapping, key)
    if not isinstance(value, int) or isinstance(value, bool):
        raise UserError(f"config.json: {key} is {value!r}; it must be an integer")
    return value


def _real(mapping: Mapping[str, Any], key: str) -> float:
    value = _required(mapping, key)
    if not isinstance(value, int | float) or isinstance(value, bool) or not value > 0:
        raise UserError(f"config.json: {key} is {value!r}; it must be a positive number")
    return float(value)


def _boolean(mapping: Mapping[str, Any], key: str) -> bool:
    value = _required(mapping, key)
    if not isinstance(value, bool):
        raise UserError(f"config.json: {key} is {value!r}; it must be true or false")
    return value


def _token_ids(mapping: Mapping[str, Any], key: str) -> tuple[int, ...]:
    value = mapping.get(key)
    values = [] if value is None else value if isinstance(value, list) else [value]
    if not all(isinstance(token, int) and not isinstance(token, bool) for token in values):
        raise UserError(f"config.json: {key} is {value!r}; it must be a token id or a list of them")
    return tuple(values)
