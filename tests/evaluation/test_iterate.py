"""Iter-k: at most k attempts, stopping at success, averaged over samples and tasks."""

from collections.abc import Iterator

import numpy as np
import pytest

from murphy_jax.errors import UserError
from murphy_jax.evaluation.iterate import iterate
from murphy_jax.evaluation.policies import EmptyPolicy, ReferencePolicy
from murphy_jax.rollout.grow import Request
from murphy_jax.sandbox import Limits, Sandbox
from tests.kit import RIGHT, WRONG, ScriptedPolicy, task


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(Limits(cpu_seconds=1.0), workers=1) as running:
        yield running


def test_a_task_counts_from_the_iteration_that_solved_it(sandbox: Sandbox) -> None:
    solved_at = {"a": 1, "b": 2, "c": 9}

    def script(request: Request, member: int) -> str:
        return RIGHT if request.turn >= solved_at[request.task.task_id] else WRONG

    policy = ScriptedPolicy(script)
    tasks = [task(name) for name in solved_at]
    result = iterate(tasks, policy, sandbox, lambda task, history: [1], iterations=3, samples=2)
    assert result.solved.shape == (3, 2, 3)
    np.testing.assert_array_equal(result.solved[:, 0], [[1, 1, 1], [0, 1, 1], [0, 0, 0]])
    asked = [request.task.task_id for request in policy.asked]
    assert (asked.count("a"), asked.count("b"), asked.count("c")) == (2, 4, 6)
    record = result.record(step=7, benchmark="repair")
    assert (record["num_tasks"], record["samples_per_task"], record["infra_share"]) == (3, 2, 0.0)
    assert [i["pass_rate"] for i in record["iterations"]] == pytest.approx([1 / 3, 2 / 3, 2 / 3])
    assert all(i["low"] <= i["pass_rate"] <= i["high"] for i in record["iterations"])


def test_the_reference_solves_everything_and_nothing_solves_nothing(sandbox: Sandbox) -> None:
    tasks = [task("a"), task("b")]
    for policy, expected in ((ReferencePolicy(), True), (EmptyPolicy(), False)):
        result = iterate(tasks, policy, sandbox, lambda task, history: [1], iterations=2)
        assert (result.solved == expected).all()


def test_a_task_without_a_reference_is_named(sandbox: Sandbox) -> None:
    with pytest.raises(UserError, match="lonely"):
        iterate([task("lonely", reference=None)], ReferencePolicy(), sandbox, lambda t, h: [1], iterations=1)
