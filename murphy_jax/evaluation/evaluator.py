"""Evaluate a model on the configured tasks; the training run and `murphy evaluate` use the same."""

from typing import Any

import jax
from flax import nnx

from murphy_jax import config
from murphy_jax.evaluation.iterate import Evaluation, iterate
from murphy_jax.evaluation.policies import EmptyPolicy, ReferencePolicy
from murphy_jax.rollout.grow import Policy
from murphy_jax.rollout.load import Loaded, make_render
from murphy_jax.rollout.policy import ModelPolicy, context_buckets
from murphy_jax.rollout.sampler import Sampler
from murphy_jax.sandbox import Sandbox
from murphy_jax.tasks import load as task_loader


class Evaluator:
    """Tasks, prompts and compiled sampling programs of an evaluation; holds no parameters."""

    def __init__(self, settings: config.Config, loaded: Loaded | None, tokenizer: Any, sandbox: Sandbox) -> None:
        """Prepare; `loaded` is None for a policy without a model.

        Raises:
            UserError: the tasks cannot be loaded.
        """
        self._settings = settings.evaluation
        self._loaded = loaded
        self._sandbox = sandbox
        # A policy without a model reads no tokens, so no task is too long for it.
        limits = (
            settings.rollout
            if loaded is not None
            else settings.rollout.model_copy(update={"max_context_tokens": 2**31})
        )
        self._render = make_render(tokenizer, limits)
        self._key = jax.random.fold_in(jax.random.key(settings.training.seed), _STREAM)
        self.tasks = task_loader.load(settings.evaluation.tasks, held_out=True)
        self._sampler = None if loaded is None else _sampler(settings, loaded)

    def __call__(self, params: nnx.State | None) -> Evaluation:
        """Evaluate `params`, with the same randomness at every call, so that two calls are paired."""
        return iterate(
            self.tasks,
            self._policy(params),
            self._sandbox,
            self._render,
            iterations=self._settings.iterations,
            samples=self._settings.samples,
        )

    def _policy(self, params: nnx.State | None) -> Policy:
        match self._settings.policy:
            case "reference":
                return ReferencePolicy()
            case "empty":
                return EmptyPolicy()
            case "model":
                assert self._loaded is not None and self._sampler is not None and params is not None
                return ModelPolicy(
                    sampler=self._sampler,
                    tokenizer=self._loaded.tokenizer,
                    params=params,
                    key=self._key,
                    sampling=self._settings.sampling,
                )


# Separates the randomness of evaluation from that of training steps, which are numbered from 0.
_STREAM = 2**31 - 1


def _sampler(settings: config.Config, loaded: Loaded) -> Sampler:
    return Sampler(
        loaded.graph,
        group_size=1,
        groups_per_batch=settings.evaluation.attempts_per_batch,
        context_buckets=context_buckets(settings.rollout),
        max_new_tokens=settings.rollout.max_completion_tokens,
        stop_ids=loaded.stop_ids,
    )
