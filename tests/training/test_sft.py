"""The warm start: its examples are solved repairs with real feedback, its update lowers their loss, its model loads."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from murphy_jax import config
from murphy_jax.observe import metrics
from murphy_jax.rollout import feedback
from murphy_jax.rollout.load import Loaded, load_policy
from murphy_jax.sandbox import Limits, Sandbox
from murphy_jax.training.sft import Example, make_examples, sft

SIZES = config.Architecture(hidden_size=16, intermediate_size=16, num_layers=1, num_heads=2, num_kv_heads=1, head_dim=8)
ROLLOUT = config.Rollout(
    max_context_tokens=184, max_completion_tokens=80, context_buckets=(56, 184), feedback_characters=100, group_size=1
)


def settings(folder: Path, **changes: Any) -> config.Config:
    return config.Config(
        model=config.Model(architecture=SIZES, tokenizer="asset:quickstart"),
        rollout=ROLLOUT,
        sft=config.Sft(**{"examples": 24, "batch_size": 4, **changes}),
        optimizer=config.Optimizer(learning_rate=1e-2),
        training=config.Training(directory=str(folder), steps=12, compilation_cache=None),
        evaluation=config.Evaluation(tasks=config.Tasks(split="heldout", count=2), attempts_per_batch=4),
    )


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    return load_policy(config.Model(architecture=SIZES, tokenizer="asset:quickstart"), seed=0)


@pytest.fixture(scope="module")
def sandbox() -> Any:
    with Sandbox(Limits(), workers=1) as sandbox:
        yield sandbox


def texts(loaded: Loaded, examples: list[Example]) -> list[tuple[str, str]]:
    """(context, target without its stop token) of each example."""
    assert all(example.target[-1] == loaded.stop_ids[0] for example in examples)
    return [(loaded.tokenizer.decode(e.context), loaded.tokenizer.decode(e.target[:-1])) for e in examples]


def test_a_repair_shows_a_wrong_attempt_with_its_feedback_and_answers_with_the_reference(
    loaded: Loaded, sandbox: Sandbox, tmp_path: Path
) -> None:
    given = texts(loaded, make_examples(settings(tmp_path, repair_share=1.0), loaded, sandbox))
    assert len(given) > 20
    for context, target in given:
        assert "expected" in context or feedback.CUT in context
        assert target not in context


def test_a_repeated_repair_answers_with_the_attempt_it_was_shown(
    loaded: Loaded, sandbox: Sandbox, tmp_path: Path
) -> None:
    heeded = texts(loaded, make_examples(settings(tmp_path, repair_share=1.0), loaded, sandbox))
    repeated = texts(loaded, make_examples(settings(tmp_path, repair_share=1.0, repeat_share=1.0), loaded, sandbox))
    assert {context for context, _ in heeded} >= {context for context, _ in repeated}
    assert all(target in context for context, target in repeated)


def test_single_turn_examples_answer_with_the_reference_whatever_the_repeat_share(
    loaded: Loaded, sandbox: Sandbox, tmp_path: Path
) -> None:
    plain, repeating = (
        texts(loaded, make_examples(settings(tmp_path, repair_share=0.0, repeat_share=share), loaded, sandbox))
        for share in (0.0, 1.0)
    )
    assert plain == repeating
    assert not any("expected" in context for context, _ in plain)


@pytest.mark.usefixtures("optax_promotes")
def test_the_warm_start_lowers_the_loss_and_leaves_a_model_that_loads(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert sft(settings(folder), console=Console(quiet=True)) == 0
    losses = [record["loss"] for record in metrics.read(folder / "metrics.jsonl")]
    assert len(losses) == 12
    assert np.mean(losses[-3:]) < np.mean(losses[:3])
    reloaded = load_policy(config.Model(folder=str(folder / "model")), seed=0)
    assert reloaded.stop_ids
