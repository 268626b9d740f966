"""Growing a tree: who is expanded, what the children read, what is scored."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest

from murphy_jax.rollout.grow import Attempt, Request, Rollout, grow
from murphy_jax.sandbox import Limits, Outcome, Program, Sandbox, Verdict
from murphy_jax.sandbox import TestResult as Result
from murphy_jax.tasks.task import Task
from tests.kit import HALF, RIGHT, WRONG, ScriptedPolicy, task


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(Limits(cpu_seconds=1.0), workers=1) as running:
        yield running


def render(task: Task, history: Sequence[Attempt]) -> list[int]:
    """Task and number of attempts, recognisable in the context."""
    return [ord(task.task_id), len(history), *(attempt.verdict.num_passed for attempt in history)]


def run(policy: ScriptedPolicy, sandbox: Any, *, tasks: str = "a", turns: int = 2, group_size: int = 2) -> Rollout:
    return grow([task(name) for name in tasks], policy, sandbox, render, turns=turns, group_size=group_size)


def test_only_failed_nodes_are_expanded_and_rewards_are_fractions(sandbox: Sandbox) -> None:
    rollout = run(ScriptedPolicy(lambda request, member: (HALF, RIGHT)[member]), sandbox)
    np.testing.assert_array_equal(rollout.tree.reward[0], [[0.5, 1.0], [0.5, 1.0], [0.0, 0.0]])
    np.testing.assert_array_equal(rollout.tree.expanded[0], [[True, False], [False, False], [False, False]])
    np.testing.assert_array_equal(rollout.judged[0], [[True, True], [True, True], [False, False]])
    assert [(g.request.turn, g.request.group) for g in rollout.groups] == [(1, 0), (2, 1)]


def test_a_solved_prompt_grows_no_further(sandbox: Sandbox) -> None:
    policy = ScriptedPolicy(lambda request, member: RIGHT)
    rollout = run(policy, sandbox, turns=3)
    assert len(policy.asked) == 1
    assert not rollout.tree.expanded.any()


def test_the_tree_is_in_level_order_and_children_know_their_ancestors(sandbox: Sandbox) -> None:
    policy = ScriptedPolicy(lambda request, member: (WRONG, HALF)[member])
    rollout = run(policy, sandbox, turns=3)
    groups = {g.request.group: g.request for g in rollout.groups}
    assert sorted(groups) == [0, 1, 2, 3, 4, 5, 6]
    for index, request in groups.items():
        if index:
            parent, member = divmod(index - 1, 2)
            assert request.history[:-1] == groups[parent].history
            assert request.history[-1].completion == (WRONG, HALF)[member]
            assert request.history[-1].verdict.num_passed == member
    assert groups[4].context.tolist() == [ord("a"), 2, 0, 1]


def test_node_numbers_are_unique_and_do_not_depend_on_what_else_was_expanded(sandbox: Sandbox) -> None:
    def nodes(script: Any) -> dict[tuple[int, int], list[int]]:
        policy = ScriptedPolicy(script)
        run(policy, sandbox, tasks="ab", turns=3)
        return {(r.prompt, r.group): r.nodes.tolist() for r in policy.asked}

    full = nodes(lambda request, member: WRONG)
    sparse = nodes(lambda request, member: (WRONG, RIGHT)[member])
    numbers = [n for group in full.values() for n in group]
    assert len(numbers) == len(set(numbers)) == 2 * 7 * 2
    assert set(sparse) < set(full)
    assert all(full[where] == group for where, group in sparse.items())


def test_all_prompts_of_a_level_are_one_queue(sandbox: Sandbox) -> None:
    levels: list[int] = []

    class Counting(ScriptedPolicy):
        def propose(self, requests: Sequence[Request]) -> Any:
            levels.append(len(requests))
            return super().propose(requests)

    run(Counting(lambda request, member: WRONG), sandbox, tasks="abc")
    assert levels == [3, 6]


def test_equal_programs_of_a_prompt_run_once(sandbox: Sandbox) -> None:
    rollout = run(ScriptedPolicy(lambda request, member: WRONG), sandbox, tasks="ab", group_size=4)
    assert rollout.executions == 2


class FaultySandbox:
    """A grader that fails on programs returning None."""

    def submit(self, program: Program) -> Future[Verdict]:
        future: Future[Verdict] = Future()
        outcome = Outcome.INFRA if "None" in program.source else Outcome.WRONG
        future.set_result(Verdict(tests=(Result(outcome=Outcome.PASSED), Result(outcome=outcome))))
        return future


def test_a_graders_fault_is_no_failure_and_no_parent() -> None:
    rollout = run(ScriptedPolicy(lambda request, member: (WRONG, HALF)[member]), FaultySandbox())
    np.testing.assert_array_equal(rollout.judged[0, 0], [False, True])
    np.testing.assert_array_equal(rollout.tree.expanded[0, 0], [False, True])
    np.testing.assert_array_equal(rollout.tree.reward[0, 0], [0.5, 0.5])
