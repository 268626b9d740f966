"""One training step: grow the trees, assign credit, pack what trains, update; with everything compiled once."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from murphy_jax import config
from murphy_jax.errors import UserError
from murphy_jax.rollout.grow import Rollout, grow
from murphy_jax.rollout.load import Loaded, make_render
from murphy_jax.rollout.policy import ModelPolicy, context_buckets
from murphy_jax.rollout.sampler import Sampler
from murphy_jax.sandbox import Sandbox
from murphy_jax.tasks.task import Task
from murphy_jax.training.batch import Assignment, completion_lengths, make_assign, pack
from murphy_jax.training.state import TrainState, make_optimizer, make_schedule, num_updates
from murphy_jax.training.statistics import assignment_metrics, rollout_metrics
from murphy_jax.training.update import Updater, finite


@dataclass(frozen=True, kw_only=True)
class StepResult:
    """What a step leaves behind."""

    state: TrainState
    metrics: dict[str, float]
    rollout: Rollout
    assignment: Assignment


class Step:
    """The compiled programs of a training step."""

    def __init__(self, settings: config.Config, loaded: Loaded, sandbox: Sandbox) -> None:
        self._settings = settings
        self._loaded = loaded
        self._sandbox = sandbox
        self._render = make_render(loaded.tokenizer, settings.rollout)
        self._buckets = context_buckets(settings.rollout)
        self._assign: Callable[..., Assignment] = make_assign(settings)
        self._sampler = Sampler(
            loaded.graph,
            group_size=settings.rollout.group_size,
            groups_per_batch=settings.rollout.groups_per_batch,
            context_buckets=self._buckets,
            max_new_tokens=settings.rollout.max_completion_tokens,
            stop_ids=loaded.stop_ids,
        )
        total = settings.training.steps * settings.training.epochs
        self.optimizer = make_optimizer(settings.optimizer, total_steps=total)
        self._schedule = make_schedule(settings.optimizer, total_steps=total)
        self._updater = Updater(
            loaded.graph,
            self.optimizer,
            settings.objective,
            reference=jax.tree.map(jnp.copy, loaded.params) if settings.objective.kl_coefficient > 0 else None,
        )

    def __call__(self, state: TrainState, tasks: Sequence[Task], key: Key[Array, ""]) -> StepResult:
        """Train on one tree for each of `tasks`; `state` is consumed.

        Raises:
            UserError: too many grader faults, or a metric is not finite.
        """
        settings, step = self._settings, int(state.step) + 1
        began = time.perf_counter()
        rollout = self._grow(state, tasks, key)
        metrics = rollout_metrics(rollout, turns=settings.rollout.turns)
        _check_infra(metrics["infra_share"], settings.sandbox.max_infra_share, step)
        grown = time.perf_counter()
        lengths = completion_lengths(rollout)
        tree = rollout.tree
        assignment = self._assign(*map(jnp.asarray, (tree.reward, tree.expanded, rollout.judged, lengths)))
        batches = pack(
            rollout,
            assignment,
            context_buckets=self._buckets,
            groups_per_batch=settings.training.groups_per_microbatch,
        )
        rate = float(self._schedule(num_updates(state)))
        for _ in range(settings.training.epochs):
            state, update_metrics = self._updater(state, batches)
            if (name := finite(update_metrics)) is not None:
                raise UserError(
                    f"Step {step}: {name} is {update_metrics[name]}. The run stops; its last checkpoint is intact. "
                    "Lower optimizer.learning_rate or optimizer.max_grad_norm and resume in a new folder."
                )
        ended = time.perf_counter()
        metrics |= assignment_metrics(rollout, assignment, lengths) | update_metrics | {"learning_rate": rate}
        metrics |= {
            "seconds/rollout": grown - began,
            "seconds/update": ended - grown,
            "seconds/step": ended - began,
            "rate/tokens_per_second": metrics["tokens/generated"] / (grown - began),
            "rate/executions_per_second": metrics["executions"] / (grown - began),
        }
        state = replace(state, step=state.step + 1)
        return StepResult(state=state, metrics=metrics, rollout=rollout, assignment=assignment)

    def _grow(self, state: TrainState, tasks: Sequence[Task], key: Key[Array, ""]) -> Rollout:
        policy = ModelPolicy(
            sampler=self._sampler,
            tokenizer=self._loaded.tokenizer,
            params=state.params,
            key=key,
            sampling=self._settings.rollout.sampling,
        )
        turns, size = self._settings.rollout.turns, self._settings.rollout.group_size
        return grow(tasks, policy, self._sandbox, self._render, turns=turns, group_size=size)


def _check_infra(share: float, limit: float, step: int) -> None:
    if share > limit:
        raise UserError(
            f"Step {step}: the sandbox failed on {share:.0%} of the programs by its own fault, more than "
            f"sandbox.max_infra_share {limit:.0%}. Check memory, disk and processes of this machine, then resume."
        )
