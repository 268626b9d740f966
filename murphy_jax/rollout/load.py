"""Load what rollouts need from an HF folder or from a random initialisation: weights, tokenizer, stop tokens."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from flax import nnx

from murphy_jax import config, models
from murphy_jax.errors import UserError
from murphy_jax.models.config import ModelConfig
from murphy_jax.models.decoder import Decoder
from murphy_jax.rollout import prompts
from murphy_jax.rollout.grow import Attempt
from murphy_jax.sandbox import Verdict
from murphy_jax.tasks import tokenizer as tokenizers
from murphy_jax.tasks.task import Task


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """A policy split for jit, and its tokenizer.

    Attributes:
        graph: the static part of the model.
        params: its parameters.
        config: its sizes.
        tokenizer: an HF tokenizer with a chat template.
        tokenizer_folder: where the tokenizer came from, to be exported with the weights.
        stop_ids: tokens that end a completion.
    """

    graph: nnx.GraphDef[Decoder]
    params: nnx.State
    config: ModelConfig
    tokenizer: Any
    tokenizer_folder: Path
    stop_ids: tuple[int, ...]


def resolve(folder: str) -> Path:
    """A path of the user, or `asset:NAME` for one that ships with the package."""
    if folder.startswith("asset:"):
        return Path(str(files("murphy_jax") / "assets" / folder.removeprefix("asset:")))
    return Path(folder).expanduser()


def load_policy(settings: config.Model, *, seed: int) -> Loaded:
    """Load or initialise the policy that `settings` describe.

    Raises:
        UserError: nothing is named, a folder is not a checkpoint, or tokenizer and model do not fit.
    """
    if settings.folder is None and settings.architecture is None:
        raise UserError("No model: set model.folder to an HF folder, or model.architecture and model.tokenizer.")
    tokenizer_folder = resolve(settings.tokenizer or settings.folder or "")
    tokenizer = tokenizers.load(tokenizer_folder)
    if settings.folder is not None:
        model = models.load(resolve(settings.folder), dtype=settings.dtype)
    else:
        assert settings.architecture is not None
        sizes = ModelConfig(**settings.architecture.model_dump(), vocab_size=len(tokenizer))
        model = Decoder(sizes, rngs=nnx.Rngs(seed), dtype=settings.dtype)
    if len(tokenizer) > model.config.vocab_size:
        raise UserError(
            f"The tokenizer of {tokenizer_folder} has {len(tokenizer)} tokens, the model only "
            f"{model.config.vocab_size}. Set model.tokenizer to the model's own."
        )
    graph, params = nnx.split(model)
    return Loaded(
        graph=graph,
        params=params,
        config=model.config,
        tokenizer=tokenizer,
        tokenizer_folder=tokenizer_folder,
        stop_ids=_stop_ids(tokenizer_folder, tokenizer),
    )


def make_render(tokenizer: Any, settings: config.Rollout) -> Callable[[Task, Sequence[Attempt]], list[int]]:
    """The function from a task and its past attempts to the token ids of the next context."""

    def render(task: Task, history: Sequence[Attempt]) -> list[int]:
        shown = history if settings.history == "all" else history[-1:]
        attempts = [(attempt.completion, feedback_of(attempt.verdict, settings)) for attempt in shown]
        return prompts.render(tokenizer, task, attempts, max_tokens=settings.max_context_tokens)

    return render


def check_lengths(rollout: config.Rollout, loaded: Loaded, tasks: Sequence[Task]) -> None:
    """Refuse, before a run starts, lengths that the model has no positions for, and tasks that fit no context.

    Raises:
        UserError: the lengths are over the model's limit, or a task is over the configured one.
    """
    total = rollout.max_context_tokens + rollout.max_completion_tokens
    if total > loaded.config.max_positions:
        raise UserError(
            f"rollout.max_context_tokens + rollout.max_completion_tokens is {total}, but the model has "
            f"{loaded.config.max_positions} positions. Lower one of them."
        )
    shown = min(1, rollout.turns - 1) if rollout.history == "last" else rollout.turns - 1
    prompts.check_fits(loaded.tokenizer, tasks, num_attempts=shown, max_tokens=rollout.max_context_tokens)


def feedback_of(verdict: Verdict, settings: config.Rollout) -> str:
    """The feedback on a program, as long as `settings` allow."""
    return prompts.feedback(verdict, max_characters=settings.feedback_characters)


def _stop_ids(folder: Path, tokenizer: Any) -> tuple[int, ...]:
    """The generation config's end-of-sequence ids, else the tokenizer's."""
    path = folder / "generation_config.json"
    ids = json.loads(path.read_text(encoding="utf-8")).get("eos_token_id") if path.is_file() else None
    ids = tokenizer.eos_token_id if ids is None else ids
    if ids is None:
        raise UserError(f"{folder}: neither generation_config.json nor the tokenizer names an end-of-sequence token.")
    return tuple(ids) if isinstance(ids, list) else (int(ids),)
