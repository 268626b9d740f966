"""The numbers of one training step, from the rollout and what the update made of it.

A turn's pass rate counts the nodes of that turn; the rescue rate of turn s is the share of turn s - 1's failed nodes
that have a solved child; a prompt is solved where any of its nodes is.
"""

from collections import Counter

import numpy as np

from murphy_jax.rollout.grow import Group, Rollout
from murphy_jax.sandbox import Outcome, Verdict
from murphy_jax.training.batch import Assignment


def rollout_metrics(rollout: Rollout, *, turns: int) -> dict[str, float]:
    """Per-turn and whole-tree metrics of a sampled and scored rollout."""
    metrics: dict[str, float] = {}
    for turn in range(1, turns + 1):
        groups = [group for group in rollout.groups if group.request.turn == turn]
        metrics[f"nodes/turn_{turn}"] = sum(len(group.verdicts) for group in groups)
        if not groups:
            continue
        verdicts = [verdict for group in groups for verdict in group.verdicts]
        metrics[f"reward/turn_{turn}"] = _mean([verdict.fraction for verdict in verdicts])
        metrics[f"pass_rate/turn_{turn}"] = _mean([solved(verdict) for verdict in verdicts])
        if turn > 1:
            metrics[f"rescue_rate/turn_{turn}"] = _mean([any(map(solved, group.verdicts)) for group in groups])
        lengths, stopped = _lengths(groups)
        metrics[f"length/turn_{turn}"] = _mean(lengths)
        metrics[f"truncated_share/turn_{turn}"] = 1.0 - _mean(stopped)
    solved_prompts = {group.request.prompt for group in rollout.groups if any(map(solved, group.verdicts))}
    outcomes = Counter(verdict.outcome for group in rollout.groups for verdict in group.verdicts)
    return {
        **metrics,
        "solved_rate": len(solved_prompts) / max(1, len(rollout.judged)),
        "executions": rollout.executions,
        "infra_share": outcomes[Outcome.INFRA] / max(1, outcomes.total()),
        "tokens/generated": float(sum(_lengths(rollout.groups)[0])),
    }


def assignment_metrics(rollout: Rollout, assignment: Assignment, length: np.ndarray) -> dict[str, float]:
    """What credit and pruning left to train on."""
    kept, live = np.asarray(assignment.kept), np.asarray(assignment.live)
    groups = [(group.request.prompt, group.request.group) for group in rollout.groups]
    kept_groups = [where for where in groups if kept[where].any()]
    return {
        "kept_group_share": len(kept_groups) / max(1, len(groups)),
        "dead_group_share": _mean([not live[where].any() for where in kept_groups]),
        "tokens/trained": float(length[live].sum()),
    }


def solved(verdict: Verdict) -> bool:
    """Whether every test passed."""
    return verdict.outcome is Outcome.PASSED


def _mean(values: list[float] | list[bool] | list[int]) -> float:
    return float(np.mean(values)) if values else 0.0


def _lengths(groups: list[Group] | tuple[Group, ...]) -> tuple[list[int], list[bool]]:
    samples = [group.proposal.sample for group in groups if group.proposal.sample is not None]
    lengths = [int(n) for sample in samples for n in sample.lengths]
    return lengths, [bool(x) for sample in samples for x in sample.stopped]
