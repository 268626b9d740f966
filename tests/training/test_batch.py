"""Packing: every trained node carries its advantage on exactly its completion tokens, and nothing else is there."""

from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from murphy_jax import config
from murphy_jax.method import objective
from murphy_jax.rollout.grow import Rollout, grow
from murphy_jax.sandbox import Limits, Sandbox
from murphy_jax.training.batch import Assignment, completion_lengths, make_assign, pack
from murphy_jax.training.statistics import assignment_metrics, rollout_metrics
from murphy_jax.training.update import MicroBatch
from tests.kit import HALF, RIGHT, WRONG, ScriptedPolicy, task

GROUP = 4


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(Limits(cpu_seconds=1.0), workers=1) as running:
        yield running


@pytest.fixture(scope="module")
def rollout(sandbox: Sandbox) -> Rollout:
    """Prompt a: a mixed first group with mixed repairs; prompt b: solved at once, a dead group."""

    def script(request: Any, member: int) -> str:
        if request.task.task_id == "b":
            return RIGHT
        return "." * member + "\n" + (WRONG, HALF, RIGHT, WRONG)[(member + request.group) % 4]

    return grow(
        [task("a"), task("b")],
        ScriptedPolicy(script),
        sandbox,
        lambda task, history: [7] * (5 + 3 * len(history)),
        turns=2,
        group_size=GROUP,
    )


def assign(rollout: Rollout, **overrides: str) -> Assignment:
    settings = config.load(
        None, {"rollout.group_size": str(GROUP), **{k.replace("__", "."): v for k, v in overrides.items()}}
    )
    tree = rollout.tree
    arrays = (tree.reward, tree.expanded, rollout.judged, completion_lengths(rollout))
    return make_assign(settings)(*map(jnp.asarray, arrays))


def token_weights(batch: MicroBatch) -> np.ndarray:
    return np.asarray(objective.token_weights(batch.weight, batch.length, batch.member.shape[-1]))


def packed(rollout: Rollout, assignment: Assignment) -> list[Any]:
    return pack(rollout, assignment, context_buckets=(6, 16), groups_per_batch=2)


def test_each_member_keeps_its_tokens_log_probs_and_advantage(rollout: Rollout) -> None:
    assignment = assign(rollout)
    found = {}
    for batch in packed(rollout, assignment):
        weights = token_weights(batch)
        for row, column in np.argwhere(np.asarray(batch.weight) > 0):
            length = int(batch.length[row, column])
            ids = tuple(np.asarray(batch.member)[row, column, :length].tolist())
            found[ids, int(batch.context_length[row])] = float(batch.advantage[row, column])
            assert (weights[row, column, :length] > 0).all()
            assert (weights[row, column, length:] == 0).all()
            np.testing.assert_array_equal(batch.old_log_probs[row, column, :length], -1.0)
    expected = {}
    live, advantage = np.asarray(assignment.live), np.asarray(assignment.advantage)
    for group in rollout.groups:
        sample = group.proposal.sample
        assert sample is not None
        where = (group.request.prompt, group.request.group)
        for member in np.flatnonzero(live[where]):
            ids = tuple(sample.tokens[member, : sample.lengths[member]].tolist())
            expected[ids, len(group.request.context)] = float(advantage[where][member])
    assert found == expected
    assert len(found) > GROUP


def test_token_weights_add_up_to_one_over_all_micro_batches(rollout: Rollout) -> None:
    for aggregate in ("token", "sequence"):
        batches = packed(rollout, assign(rollout, objective__aggregate=aggregate))
        assert sum(float(token_weights(batch).sum()) for batch in batches) == pytest.approx(1.0, abs=1e-5)


def test_a_dead_group_is_not_in_any_batch(rollout: Rollout) -> None:
    assignment = assign(rollout)
    assert not np.asarray(assignment.live)[1].any()
    rows = sum(int((np.asarray(batch.weight) > 0).any(axis=1).sum()) for batch in packed(rollout, assignment))
    assert rows == int(np.asarray(assignment.live).any(axis=-1).sum())


def test_pruned_members_make_the_batch_narrower(rollout: Rollout) -> None:
    assignment = assign(rollout, pruning__members="2", credit__rule="mers")
    widths = {batch.context.shape[1]: batch.member.shape[1] for batch in packed(rollout, assignment)}
    assert widths == {6: GROUP, 16: 2}


def test_interp_keeps_the_first_group_and_as_many_repairs_as_allowed(rollout: Rollout) -> None:
    kept = np.asarray(np.any(assign(rollout, pruning__groups="1").kept, axis=-1))
    assert kept[0, 0]
    assert kept[0, 1:].sum() == 1


def test_mars_pays_a_failed_attempt_for_its_repair(rollout: Rollout) -> None:
    credit = np.asarray(assign(rollout).credit)[0]
    reward = np.asarray(rollout.tree.reward)[0]
    assert (credit[0] == 1.0).all(), "every failed attempt has a solved child here"
    np.testing.assert_array_equal(credit[1:], reward[1:])


def test_the_metrics_count_what_happened(rollout: Rollout) -> None:
    metrics = rollout_metrics(rollout, turns=2)
    assert metrics["nodes/turn_1"] == 2 * GROUP
    assert metrics["pass_rate/turn_1"] == pytest.approx(5 / 8)
    assert metrics["nodes/turn_2"] == 3 * GROUP
    assert metrics["rescue_rate/turn_2"] == 1.0
    assert metrics["solved_rate"] == 1.0
    assert metrics["infra_share"] == 0.0
    lengths = completion_lengths(rollout)
    assert metrics["tokens/generated"] == lengths.sum()
    assigned = assignment_metrics(rollout, assign(rollout), lengths)
    assert assigned["kept_group_share"] == 1.0
    assert assigned["dead_group_share"] == pytest.approx(2 / 5)  # b's group, and a's, whose credits are all 1
