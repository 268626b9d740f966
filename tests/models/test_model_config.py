"""`config.json` in and out, and what is refused by name."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murphy_jax.errors import UserError
from murphy_jax.models import ModelConfig
from tests.models.tiny import CONFIG


def mapping(**changes: Any) -> dict[str, Any]:
    return {**CONFIG.to_hf(), **changes}


@given(
    ratio=st.integers(1, 4),
    num_kv_heads=st.integers(1, 8),
    half_head=st.integers(1, 64),
    theta=st.floats(1.0, 1e7),
    tied=st.booleans(),
    eos=st.lists(st.integers(0, 100), max_size=3).map(tuple),
)
def test_what_is_written_is_read_back(
    ratio: int, num_kv_heads: int, half_head: int, theta: float, tied: bool, eos: tuple[int, ...]
) -> None:
    config = replace(
        CONFIG,
        num_heads=ratio * num_kv_heads,
        num_kv_heads=num_kv_heads,
        head_dim=2 * half_head,
        rope_theta=theta,
        tied_embeddings=tied,
        eos_token_ids=eos,
    )
    assert ModelConfig.from_hf(config.to_hf()) == config
    assert hash(ModelConfig.from_hf(config.to_hf())) == hash(config)


def test_the_config_of_a_published_qwen3_is_read() -> None:
    published = {
        "architectures": ["Qwen3ForCausalLM"],
        "attention_bias": False,
        "attention_dropout": 0.0,
        "bos_token_id": 151643,
        "eos_token_id": 151645,
        "head_dim": 128,
        "hidden_act": "silu",
        "hidden_size": 1024,
        "initializer_range": 0.02,
        "intermediate_size": 3072,
        "max_position_embeddings": 40960,
        "max_window_layers": 28,
        "model_type": "qwen3",
        "num_attention_heads": 16,
        "num_hidden_layers": 28,
        "num_key_value_heads": 8,
        "rms_norm_eps": 1e-06,
        "rope_scaling": None,
        "rope_theta": 1000000,
        "sliding_window": None,
        "tie_word_embeddings": True,
        "torch_dtype": "bfloat16",
        "transformers_version": "4.51.0",
        "use_cache": True,
        "use_sliding_window": False,
        "vocab_size": 151936,
    }
    config = ModelConfig.from_hf(published)
    assert (config.num_layers, config.num_heads, config.num_kv_heads, config.head_dim) == (28, 16, 8, 128)
    assert (config.rope_theta, config.rms_norm_eps, config.tied_embeddings) == (1e6, 1e-6, True)
    assert (config.bos_token_id, config.eos_token_ids, config.max_positions) == (151643, (151645,), 40960)


def test_rope_parameters_of_transformers_5_go_before_the_old_key() -> None:
    both = mapping(rope_theta=1.0, rope_parameters={"rope_type": "default", "rope_theta": 77.0})
    assert ModelConfig.from_hf(both).rope_theta == 77.0
    old = mapping(rope_theta=99.0)
    del old["rope_parameters"]
    assert ModelConfig.from_hf(old).rope_theta == 99.0


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"model_type": "olmo2"}, "model_type"),
        ({"architectures": ["Qwen3ForSequenceClassification"]}, "architectures"),
        ({"model_type": "qwen3_moe", "num_experts": 8}, "model_type"),
        ({"num_experts": 8}, "num_experts"),
        ({"use_sliding_window": True, "sliding_window": 4096}, "use_sliding_window"),
        ({"layer_types": ["full_attention", "sliding_attention"]}, "sliding_attention"),
        ({"rope_scaling": {"rope_type": "yarn", "factor": 4.0}}, "rope_scaling"),
        ({"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e6}}, "rope_parameters.rope_type"),
        ({"rope_parameters": {"rope_theta": 1e6, "partial_rotary_factor": 0.5}}, "partial_rotary_factor"),
        ({"rope_parameters": {"rope_type": "default"}}, "rope_theta"),
        ({"rope_parameters": 3}, "rope_parameters"),
        ({"quantization_config": {"quant_method": "fp8"}}, "quantization_config"),
        ({"attention_bias": True}, "attention_bias"),
        ({"attention_dropout": 0.1}, "attention_dropout"),
        ({"hidden_act": "gelu"}, "hidden_act"),
        ({"hidden_size": "20"}, "hidden_size"),
        ({"hidden_size": True}, "hidden_size"),
        ({"hidden_size": 0}, "hidden_size"),
        ({"num_key_value_heads": 4}, "num_kv_heads"),
        ({"head_dim": 7}, "head_dim"),
        ({"rms_norm_eps": None}, "rms_norm_eps"),
        ({"tie_word_embeddings": "yes"}, "tie_word_embeddings"),
        ({"eos_token_id": "</s>"}, "eos_token_id"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(UserError, match=named.replace(".", r"\.")):
        ModelConfig.from_hf(mapping(**changes))


@pytest.mark.parametrize(
    "key",
    [
        "vocab_size",
        "hidden_size",
        "intermediate_size",
        "num_hidden_layers",
        "num_attention_heads",
        "num_key_value_heads",
        "head_dim",
        "rms_norm_eps",
        "tie_word_embeddings",
        "max_position_embeddings",
    ],
)
def test_a_missing_size_is_named_and_not_defaulted(key: str) -> None:
    incomplete = mapping()
    del incomplete[key]
    with pytest.raises(UserError, match=f"{key} is missing"):
        ModelConfig.from_hf(incomplete)
