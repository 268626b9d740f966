"""Grow the rollout tree a level at a time: propose, execute, and let every failed node become the next context.

    turn 1          P groups, one a prompt
    turn s + 1      one group for each failed node of turn s: task + attempt + feedback

All prompts share a level, so the frontier is sampled as one queue; programs are scored while the rest is decoded.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from murphy_jax.method.tree import RolloutTree, num_groups
from murphy_jax.rollout.extraction import extract_program
from murphy_jax.rollout.sampler import GroupSample
from murphy_jax.sandbox import Outcome, Program, Sandbox, Verdict
from murphy_jax.tasks.task import Task


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """A past attempt, as the next prompt shows it."""

    completion: str
    verdict: Verdict


@dataclass(frozen=True, kw_only=True)
class Request:
    """A sibling group to be sampled.

    Attributes:
        task: what is to be solved.
        prompt: index p of the task in this rollout.
        group: index m in level order.
        turn: s, from 1.
        history: the attempts before this turn, oldest first; empty at turn 1.
        context: int32 [C] token ids of the prompt.
        nodes: int [G], numbers unique in the rollout, which seed the members' randomness.
    """

    task: Task
    prompt: int
    group: int
    turn: int
    history: tuple[Attempt, ...]
    context: np.ndarray
    nodes: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """G completions as text, and as sampled tokens where a model made them."""

    completions: tuple[str, ...]
    sample: GroupSample | None = None


class Policy(Protocol):
    """Whatever answers requests, in any order, as soon as it can."""

    def propose(self, requests: Sequence[Request]) -> Iterator[tuple[int, Proposal]]:
        """Yield (index of the request, its proposal)."""
        ...


@dataclass(frozen=True, kw_only=True)
class Group:
    """A sampled and scored sibling group."""

    request: Request
    proposal: Proposal
    programs: tuple[str, ...]
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True, kw_only=True)
class Rollout:
    """The trees of P prompts.

    Attributes:
        tree: rewards and expansions [P, M, G], NumPy arrays.
        judged: bool [P, M, G], false where there is no node or where the grader itself failed.
        groups: visited groups, level by level.
        executions: programs run; equal programs of one prompt are run once.
    """

    tree: RolloutTree
    judged: np.ndarray
    groups: tuple[Group, ...]
    executions: int


def grow(
    tasks: Sequence[Task],
    policy: Policy,
    sandbox: Sandbox,
    render: Callable[[Task, Sequence[Attempt]], Sequence[int]],
    *,
    turns: int,
    group_size: int,
) -> Rollout:
    """Grow one tree a task.

    Args:
        tasks: the P prompts.
        policy: proposes G completions for each request.
        sandbox: scores programs.
        render: context token ids of a task after some attempts.
        turns: S, at least 1.
        group_size: G, at least 1.
    """
    shape = (len(tasks), num_groups(group_size, turns), group_size)
    reward, expanded, judged = np.zeros(shape, np.float32), np.zeros(shape, bool), np.zeros(shape, bool)
    scorer = _Scorer(sandbox)
    groups: list[Group] = []

    def request(prompt: int, group: int, turn: int, history: tuple[Attempt, ...]) -> Request:
        first = (prompt * shape[1] + group) * group_size
        context = np.asarray(render(tasks[prompt], history), np.int32)
        nodes = np.arange(first, first + group_size)
        return Request(
            task=tasks[prompt], prompt=prompt, group=group, turn=turn, history=history, context=context, nodes=nodes
        )

    frontier = [request(prompt, 0, 1, ()) for prompt in range(len(tasks))]
    for turn in range(1, turns + 1):
        level = _run_level(frontier, policy, scorer)
        frontier = []
        for group in level:
            where = (group.request.prompt, group.request.group)
            reward[where], judged[where] = _rewards(group.verdicts)
            if turn == turns:
                continue
            for member, verdict in enumerate(group.verdicts):
                if judged[where][member] and verdict.outcome is not Outcome.PASSED:
                    expanded[where][member] = True
                    attempt = Attempt(completion=group.proposal.completions[member], verdict=verdict)
                    child = group.request.group * group_size + member + 1
                    frontier.append(request(where[0], child, turn + 1, (*group.request.history, attempt)))
        groups.extend(level)
    tree = RolloutTree(reward=reward, expanded=expanded)
    return Rollout(tree=tree, judged=judged, groups=tuple(groups), executions=scorer.executions)


class _Scorer:
    """Runs every distinct program of a prompt once."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._futures: dict[tuple[int, str], Future[Verdict]] = {}

    @property
    def executions(self) -> int:
        return len(self._futures)

    def submit(self, prompt: int, program: Program) -> Future[Verdict]:
        key = (prompt, program.source)
        if key not in self._futures:
            self._futures[key] = self._sandbox.submit(program)
        return self._futures[key]


def _run_level(frontier: Sequence[Request], policy: Policy, scorer: _Scorer) -> list[Group]:
    scored: dict[int, tuple[Proposal, tuple[str, ...], list[Future[Verdict]]]] = {}
    for index, proposal in policy.propose(frontier):
        request = frontier[index]
        programs = tuple(extract_program(completion) for completion in proposal.completions)
        futures = [scorer.submit(request.prompt, request.task.program(source)) for source in programs]
        scored[index] = (proposal, programs, futures)
    return [
        Group(
            request=request,
            proposal=scored[index][0],
            programs=scored[index][1],
            verdicts=tuple(future.result() for future in scored[index][2]),
        )
        for index, request in enumerate(frontier)
    ]


def _rewards(verdicts: Sequence[Verdict]) -> tuple[np.ndarray, np.ndarray]:
    """Rewards [G] and which of them were judged; a grader's fault takes its siblings' mean, which moves nothing."""
    judged = np.array([all(test.outcome is not Outcome.INFRA for test in verdict.tests) for verdict in verdicts])
    reward = np.array([verdict.fraction for verdict in verdicts], np.float32)
    mean = reward[judged].mean() if judged.any() else np.float32(0)
    return np.where(judged, reward, mean), judged
