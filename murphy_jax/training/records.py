"""A rollout tree as one JSON record, for the report and for reading by eye."""

from typing import Any

import numpy as np

from murphy_jax import config
from murphy_jax.rollout.grow import Group, Rollout
from murphy_jax.rollout.load import feedback_of
from murphy_jax.training.batch import Assignment


def tree_records(
    rollout: Rollout,
    assignment: Assignment,
    tokenizer: Any,
    *,
    step: int,
    count: int,
    settings: config.Rollout,
) -> list[dict[str, Any]]:
    """The trees of the first `count` prompts, visited groups only, in level order."""
    arrays = {name: np.asarray(getattr(assignment, name)) for name in ("credit", "advantage", "kept")}
    return [
        {
            "step": step,
            "task_id": groups[0].request.task.task_id,
            "prompt": groups[0].request.task.prompt,
            "num_turns": settings.turns,
            "group_size": len(groups[0].verdicts),
            "groups": [_group(group, arrays, tokenizer, settings) for group in groups],
        }
        for prompt in range(min(count, len(rollout.judged)))
        if (groups := [group for group in rollout.groups if group.request.prompt == prompt])
    ]


def _group(group: Group, arrays: dict[str, np.ndarray], tokenizer: Any, settings: config.Rollout) -> dict[str, Any]:
    where = (group.request.prompt, group.request.group)
    size = len(group.verdicts)
    values = {name: array[where] for name, array in arrays.items()}
    return {
        "group": group.request.group,
        "turn": group.request.turn,
        "parent": group.request.group - 1 if group.request.group else None,
        "kept": bool(values["kept"].any()),
        "context": tokenizer.decode(group.request.context, skip_special_tokens=False),
        "members": [
            {
                "node": group.request.group * size + member,
                "completion": group.proposal.completions[member],
                "program": group.programs[member],
                "reward": verdict.fraction,
                "credit": float(values["credit"][member]),
                "advantage": float(values["advantage"][member]),
                "kept": bool(values["kept"][member]),
                "finish": _finish(group, member),
                "outcome": str(verdict.outcome),
                "tests": [
                    {
                        "outcome": str(test.outcome),
                        "case": test.case,
                        "expected": test.expected,
                        "got": test.got,
                        "message": test.message,
                    }
                    for test in verdict.tests
                ],
                "feedback": feedback_of(verdict, settings),
            }
            for member, verdict in enumerate(group.verdicts)
        ],
    }


def _finish(group: Group, member: int) -> str:
    sample = group.proposal.sample
    return "stop" if sample is None or sample.stopped[member] else "length"
