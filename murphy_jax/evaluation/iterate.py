"""Pass@1 after at most k iterations of propose, execute, repair, stopping at success: Iter-1 .. Iter-k.

An attempt is a tree without branches, so an evaluation is a rollout with groups of one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from murphy_jax.evaluation.pass_at_k import estimate
from murphy_jax.rollout.grow import Attempt, Policy, Rollout, grow
from murphy_jax.sandbox import Outcome, Sandbox
from murphy_jax.tasks.task import Task


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What an evaluation found.

    Attributes:
        solved: bool [tasks, samples, iterations], solved at or before the iteration.
        rollout: all attempts, task by task and sample by sample.
    """

    solved: np.ndarray
    rollout: Rollout

    def record(self, *, step: int, benchmark: str) -> dict[str, Any]:
        """The line of `evaluations.jsonl`."""
        tasks, samples, iterations = self.solved.shape
        estimates = [estimate(self.solved[:, :, index]) for index in range(iterations)]
        return {
            "step": step,
            "benchmark": benchmark,
            "num_tasks": tasks,
            "samples_per_task": samples,
            "infra_share": 1.0 - float(_judged(self.rollout)),
            "iterations": [
                {"iteration": index + 1, "pass_rate": e.value, "low": e.low, "high": e.high}
                for index, e in enumerate(estimates)
            ],
        }


def iterate(
    tasks: Sequence[Task],
    policy: Policy,
    sandbox: Sandbox,
    render: Callable[[Task, Sequence[Attempt]], Sequence[int]],
    *,
    iterations: int,
    samples: int = 1,
) -> Evaluation:
    """Try every task `samples` times, with up to `iterations` attempts each."""
    repeated = [task for task in tasks for _ in range(samples)]
    rollout = grow(repeated, policy, sandbox, render, turns=iterations, group_size=1)
    solved = np.zeros((len(repeated), iterations), bool)
    for group in rollout.groups:
        if group.verdicts[0].outcome is Outcome.PASSED:
            solved[group.request.prompt, group.request.turn - 1 :] = True
    return Evaluation(solved=solved.reshape(len(tasks), samples, iterations), rollout=rollout)


def _judged(rollout: Rollout) -> float:
    judged = [rollout.judged[group.request.prompt, group.request.group, 0] for group in rollout.groups]
    return float(np.mean(judged)) if judged else 1.0
