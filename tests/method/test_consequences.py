"""What follows from the method as a whole, from rewards to the gradient."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from murphy_jax.method import advantage, credit, objective, pruning
from murphy_jax.method.tree import visited
from tests.method.trees import FEW, Tree, permuted, trees

TOLERANCE = 1e-5
MAX_LENGTH = 4
SEEDS = st.integers(0, 2**32 - 1)
BUDGETS = st.sampled_from([(None, 2), (1, None), (2, 2)])

group_advantage = jax.jit(advantage.group_advantage)


def sampled_tokens(shape: tuple[int, ...], seed: int) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """New, old and reference log-probs [P M G T] and lengths [P M G]."""
    rng = np.random.default_rng(seed)
    new = rng.normal(-1.0, 0.3, (*shape, MAX_LENGTH))
    old, reference = new + rng.normal(0.0, 0.3, new.shape), new + rng.normal(0.0, 0.3, new.shape)
    floats = [jnp.asarray(x, jnp.float32) for x in (new, old, reference)]
    return floats[0], floats[1], floats[2], jnp.asarray(rng.integers(1, MAX_LENGTH + 1, shape))


@partial(jax.jit, static_argnames=("num_turns", "groups", "members"))
def kept_nodes(
    reward: jax.Array, expanded: jax.Array, *, num_turns: int, groups: int | None = None, members: int | None = None
) -> tuple[jax.Array, jax.Array]:
    """Credit, and what the two prunings leave."""
    value, seen = credit.mars(reward, expanded, num_turns=num_turns), visited(expanded)
    kept_groups = pruning.keep_groups(value, seen, budget=groups)
    return value, kept_groups[..., None] & pruning.keep_members(value, seen, budget=members)


@jax.jit
@partial(jax.value_and_grad, has_aux=True)
def loss_and_gradient(
    new: jax.Array, old: jax.Array, reference: jax.Array, lengths: jax.Array, value: jax.Array, keep: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """The loss of the kept nodes with a KL term, and the advantages beside it."""
    gain = advantage.group_advantage(value, keep)
    weight = objective.token_weights(
        objective.member_weights(lengths, advantage.live(value, keep)), lengths, MAX_LENGTH
    )
    loss, _ = objective.policy_loss(new, old, gain, weight, kl_coefficient=0.1, reference_log_probs=reference)
    return loss, gain


@given(trees(((2, 1), (4, 1))), SEEDS)
def test_one_turn_is_exactly_grpo(tree: Tree, seed: int) -> None:
    new, old, reference, lengths = sampled_tokens(tree.reward.shape, seed)
    value, keep = kept_nodes(*tree.arrays, num_turns=1)
    (loss, _), _ = loss_and_gradient(new, old, reference, lengths, value, keep)

    total, tokens = 0.0, 0
    for prompt, rewards in enumerate(tree.reward[:, 0]):
        if rewards.std() == 0:
            continue
        gains = (rewards - rewards.mean()) / (rewards.std() + 1e-6)
        for member, gain in enumerate(gains):
            inside = (prompt, 0, member, slice(0, int(lengths[prompt, 0, member])))
            ratio = np.exp(new[inside] - old[inside])
            difference = np.asarray(reference[inside] - new[inside])
            k3 = np.exp(difference) - difference - 1
            total += np.sum(np.minimum(ratio * gain, np.clip(ratio, 0.8, 1.2) * gain) - 0.1 * k3)
            tokens += len(ratio)
    np.testing.assert_allclose(loss, -total / max(1, tokens), rtol=TOLERANCE, atol=TOLERANCE)


@given(trees(FEW), SEEDS)
def test_a_group_of_equal_credit_has_exactly_zero_gradient(tree: Tree, seed: int) -> None:
    tokens = sampled_tokens(tree.reward.shape, seed)
    value, keep = kept_nodes(*tree.arrays, num_turns=tree.num_turns)
    _, gradient = loss_and_gradient(*tokens, value, keep)
    equal = np.asarray(value.max(axis=-1) == value.min(axis=-1))
    assert (np.asarray(gradient)[equal] == 0).all()
    assert (np.abs(gradient)[~equal].sum(axis=(-1, -2)) > 0).all()


@given(trees(((2, 3), (3, 2))), SEEDS, BUDGETS)
def test_removing_nodes_and_masking_them_give_the_same_loss(
    tree: Tree, seed: int, budgets: tuple[int | None, int | None]
) -> None:
    groups, members = budgets
    tokens = sampled_tokens(tree.reward.shape, seed)
    value, keep = map(np.asarray, kept_nodes(*tree.arrays, num_turns=tree.num_turns, groups=groups, members=members))
    (masked, _), gradient = loss_and_gradient(*tokens, value, keep)

    total, count = 0.0, 0
    for place in np.argwhere(keep.any(axis=-1)):
        chosen = (*place, np.flatnonzero(keep[tuple(place)]))
        alone = value[chosen][None, None]
        if alone.min() == alone.max():
            continue
        new, old, reference, lengths = (np.asarray(x)[chosen][None, None] for x in tokens)
        (mean, _), _ = loss_and_gradient(new, old, reference, lengths, alone, np.ones(alone.shape, bool))
        total += float(mean) * lengths.sum()
        count += lengths.sum()
    np.testing.assert_allclose(masked, total / max(1, count), rtol=TOLERANCE, atol=TOLERANCE)
    assert (np.asarray(gradient)[~keep] == 0).all()


@given(trees(FEW), SEEDS)
def test_permuting_siblings_with_all_below_them_permutes_credit_and_advantage(tree: Tree, seed: int) -> None:
    nodes = permuted(tree, np.random.default_rng(seed))

    def move(array: np.ndarray) -> np.ndarray:
        return array.reshape(len(array), -1)[:, nodes].reshape(array.shape)

    def assign(reward: np.ndarray, expanded: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, keep = kept_nodes(jnp.asarray(reward), jnp.asarray(expanded), num_turns=tree.num_turns)
        return np.asarray(value), np.asarray(group_advantage(value, keep))

    value, advantages = assign(tree.reward, tree.expanded)
    moved_value, moved_advantages = assign(move(tree.reward), move(tree.expanded))
    np.testing.assert_array_equal(moved_value, move(value))
    np.testing.assert_allclose(moved_advantages, move(advantages), atol=TOLERANCE)


@given(trees(FEW), SEEDS)
def test_pruning_with_a_budget_of_all_changes_nothing(tree: Tree, seed: int) -> None:
    tokens = sampled_tokens(tree.reward.shape, seed)
    unpruned = kept_nodes(*tree.arrays, num_turns=tree.num_turns)
    everything = kept_nodes(*tree.arrays, num_turns=tree.num_turns, groups=10**6, members=10**6)
    (loss, gain), gradient = loss_and_gradient(*tokens, *unpruned)
    (same_loss, same_gain), same_gradient = loss_and_gradient(*tokens, *everything)
    assert loss == same_loss
    np.testing.assert_array_equal(gain, same_gain)
    np.testing.assert_array_equal(gradient, same_gradient)


def test_a_first_solve_is_worth_more_than_a_near_miss_that_is_repaired() -> None:
    reward = jnp.array([[[1.0, 0.9], [0.0, 0.0], [1.0, 1.0]]])
    expanded = jnp.array([[[False, True], [False, False], [False, False]]])
    found = credit.mers(reward, expanded, num_turns=2)
    assert found[0, 0, 0] == 1.0
    assert found[0, 0, 1] < 1.0
