"""From a rollout to what the update takes: credit, pruning and advantage on scalars, then padded micro-batches.

reward [P M G] -> credit -> kept -> advantage, live -> weight        one jitted program
live groups, by context bucket and width -> MicroBatch [B, K]        NumPy; what is pruned or dead is not there
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from murphy_jax import config
from murphy_jax.method import advantage, credit, objective, pruning
from murphy_jax.method.tree import visited
from murphy_jax.rollout.grow import Group, Rollout
from murphy_jax.training.update import MicroBatch, bucket_of


@jax.tree_util.register_dataclass
@dataclass(frozen=True, kw_only=True)
class Assignment:
    """What credit, pruning and normalisation say of every node, [P, M, G].

    Attributes:
        credit: the node's credit after back-propagation.
        kept: the node survived pruning and was judged.
        advantage: within its sibling group; 0 where it does not train.
        live: the node trains: it is kept and its group is not dead.
        weight: weight of each token of the node in the loss; sums to 1 over all tokens that train.
    """

    credit: Float[Array, "P M G"]
    kept: Bool[Array, "P M G"]
    advantage: Float[Array, "P M G"]
    live: Bool[Array, "P M G"]
    weight: Float[Array, "P M G"]


def make_assign(settings: config.Config) -> Any:
    """The jitted (reward, expanded, judged, length) -> Assignment of this configuration."""
    return jax.jit(partial(_assign, settings))


def _assign(
    settings: config.Config,
    reward: Float[Array, "P M G"],
    expanded: Bool[Array, "P M G"],
    judged: Bool[Array, "P M G"],
    length: Int[Array, "P M G"],
) -> Assignment:
    value = _credit(settings, reward, expanded)
    seen = visited(expanded)
    groups = pruning.keep_groups(value, seen, budget=settings.pruning.groups)
    members = pruning.keep_members(value, seen, budget=settings.pruning.members)
    kept = groups[..., None] & members & judged
    live = advantage.live(value, kept)
    return Assignment(
        credit=value,
        kept=kept,
        advantage=advantage.group_advantage(value, kept, scale=settings.objective.advantage),
        live=live,
        weight=objective.member_weights(length, live, aggregate=settings.objective.aggregate),
    )


def _credit(
    settings: config.Config, reward: Float[Array, "P M G"], expanded: Bool[Array, "P M G"]
) -> Float[Array, "P M G"]:
    rule, turns = settings.credit, settings.rollout.turns
    match rule.rule:
        case "mars":
            discount = 1.0 if rule.discount is None else rule.discount
            return credit.mars(reward, expanded, num_turns=turns, discount=discount)
        case "mers":
            discount = 0.9 if rule.discount is None else rule.discount
            normalise = rule.normalise or "each"
            return credit.mers(reward, expanded, num_turns=turns, discount=discount, normalise=normalise)


def completion_lengths(rollout: Rollout) -> np.ndarray:
    """Tokens of each node's completion, int32 [P, M, G]; 0 where there is no node."""
    lengths = np.zeros(rollout.judged.shape, np.int32)
    for group in rollout.groups:
        assert group.proposal.sample is not None, "only sampled tokens can be trained on"
        lengths[group.request.prompt, group.request.group] = group.proposal.sample.lengths
    return lengths


def pack(
    rollout: Rollout, assignment: Assignment, *, context_buckets: Sequence[int], groups_per_batch: int
) -> list[MicroBatch]:
    """The micro-batches of all live groups; their number of shapes is bounded by buckets x widths.

    A group keeps its G members, or only the live ones where IntraP chose fewer.
    """
    weight, value = np.asarray(assignment.weight), np.asarray(assignment.advantage)
    kept = np.asarray(assignment.kept)
    classes: dict[tuple[int, int], list[tuple[Group, np.ndarray]]] = defaultdict(list)
    for group in rollout.groups:
        where = (group.request.prompt, group.request.group)
        if not (weight[where] > 0).any():
            continue
        members = np.flatnonzero(kept[where])
        width = _width(len(members), kept.shape[-1])
        classes[bucket_of(len(group.request.context), context_buckets), width].append((group, members))
    return [
        _micro_batch(chunk, value, weight, bucket=bucket, width=width, size=groups_per_batch)
        for (bucket, width), groups in sorted(classes.items(), key=lambda item: item[0])
        for chunk in _chunks(groups, groups_per_batch)
    ]


def _width(members: int, group_size: int) -> int:
    """Members are padded to G, or to a power of two below it, so that few shapes are compiled."""
    width = 2
    while width < members:
        width *= 2
    return min(width, group_size)


def _chunks(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    return (items[start : start + size] for start in range(0, len(items), size))


def _micro_batch(
    groups: Sequence[tuple[Group, np.ndarray]],
    value: np.ndarray,
    weight: np.ndarray,
    *,
    bucket: int,
    width: int,
    size: int,
) -> MicroBatch:
    first = groups[0][0].proposal.sample
    assert first is not None
    time = first.tokens.shape[-1]
    context, context_length = np.zeros((size, bucket), np.int32), np.ones(size, np.int32)
    member, old = np.zeros((size, width, time), np.int32), np.zeros((size, width, time), np.float32)
    length = np.zeros((size, width), np.int32)
    advantages, weights = np.zeros((size, width), np.float32), np.zeros((size, width), np.float32)
    for row, (group, members) in enumerate(groups):
        request, sample = group.request, group.proposal.sample
        assert sample is not None
        where, kept = (request.prompt, request.group), slice(0, len(members))
        context[row, : len(request.context)] = request.context
        context_length[row] = len(request.context)
        member[row, kept], old[row, kept] = sample.tokens[members], sample.log_probs[members]
        length[row, kept] = sample.lengths[members]
        advantages[row, kept], weights[row, kept] = value[where][members], weight[where][members]
    return MicroBatch(
        context=jnp.asarray(context),
        context_length=jnp.asarray(context_length),
        member=jnp.asarray(member),
        length=jnp.asarray(length),
        old_log_probs=jnp.asarray(old),
        advantage=jnp.asarray(advantages),
        weight=jnp.asarray(weights),
    )
