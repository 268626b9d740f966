"""A small kit that runs the whole loop without weights: scripted policies, tiny tasks, a tokenizer that ships."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import murphy_jax
from murphy_jax.rollout.grow import Proposal, Request
from murphy_jax.rollout.sampler import GroupSample
from murphy_jax.tasks import tokenizer
from murphy_jax.tasks.task import Task

QUICKSTART = Path(murphy_jax.__file__).parent / "assets" / "quickstart"

RIGHT = "```python\ndef f(x):\n    return x + 1\n```"
HALF = "```python\ndef f(x):\n    return 1\n```"
WRONG = "```python\ndef f(x):\n    return None\n```"


def task(task_id: str = "t", **changes: Any) -> Task:
    """A task with two tests; HALF passes the first."""
    fields: dict[str, Any] = {
        "task_id": task_id,
        "prompt": f"Write f(x) that adds one. ({task_id})",
        "entry_point": "f",
        "tests": ("assert f(0) == 1", "assert f(1) == 2"),
        "reference": "def f(x):\n    return x + 1",
    }
    return Task(**{**fields, **changes})


class ScriptedPolicy:
    """Answers member g of a request with `script(request, g)`, newest request first; remembers what it was asked."""

    def __init__(self, script: Callable[[Request, int], str]) -> None:
        self._script = script
        self.asked: list[Request] = []

    def propose(self, requests: Sequence[Request]) -> Iterator[tuple[int, Proposal]]:
        self.asked += requests
        for index in reversed(range(len(requests))):
            request = requests[index]
            completions = tuple(self._script(request, member) for member in range(len(request.nodes)))
            yield index, Proposal(completions=completions, sample=sampled(completions))


def sampled(completions: Sequence[str], time: int = 64) -> GroupSample:
    """A sample whose token ids are the texts' bytes, with a stop token of 0."""
    tokens = np.zeros((len(completions), time), np.int32)
    lengths = np.zeros(len(completions), np.int32)
    for row, text in enumerate(completions):
        ids = list(text.encode())[: time - 1]
        tokens[row, : len(ids)] = ids
        lengths[row] = len(ids) + 1
    log_probs = np.where(np.arange(time) < lengths[:, None], -1.0, 0.0).astype(np.float32)
    return GroupSample(
        tokens=tokens,
        log_probs=log_probs,
        behaviour_log_probs=log_probs,
        lengths=lengths,
        stopped=np.ones(len(completions), bool),
    )


def quickstart_tokenizer() -> Any:
    """The tokenizer that ships."""
    return tokenizer.load(QUICKSTART)
