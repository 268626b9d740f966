"""The update: group layout equal to rows, micro-batches that add up, dead groups that cost nothing."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

from murphy_jax import config
from murphy_jax.models import Decoder, ModelConfig, decoder
from murphy_jax.training.state import init_state
from murphy_jax.training.update import MicroBatch, Updater, policy_loss

SIZES = ModelConfig(
    vocab_size=31, hidden_size=16, intermediate_size=24, num_layers=2, num_heads=4, num_kv_heads=2, head_dim=8,
    initializer_range=0.3,
)  # fmt: skip
TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def model() -> Decoder:
    return Decoder(SIZES, rngs=nnx.Rngs(0), dtype="float32")


def batch(groups: int = 4, members: int = 3, context: int = 7, time: int = 5, seed: int = 0) -> MicroBatch:
    random = np.random.default_rng(seed)
    length = random.integers(1, time + 1, (groups, members))
    weight = np.full((groups, members), 1.0 / length.sum(), np.float32)
    return MicroBatch(
        context=jnp.asarray(random.integers(0, 31, (groups, context)), jnp.int32),
        context_length=jnp.asarray(random.integers(1, context + 1, groups), jnp.int32),
        member=jnp.asarray(random.integers(0, 31, (groups, members, time)), jnp.int32),
        length=jnp.asarray(length, jnp.int32),
        old_log_probs=jnp.asarray(random.normal(-3.0, 0.3, (groups, members, time)), jnp.float32),
        advantage=jnp.asarray(random.normal(0, 1, (groups, members)), jnp.float32),
        weight=jnp.asarray(weight),
    )


def row_wise_loss(model: Decoder, data: MicroBatch, settings: config.Objective) -> Any:
    """The same loss from plain rows of context + completion, one member at a time, by the formula."""
    total = jnp.zeros(())
    for group in range(data.member.shape[0]):
        size = int(data.context_length[group])
        context = data.context[group, :size]
        rows = jnp.stack([jnp.concatenate([context, member]) for member in data.member[group]])
        log_probs = jax.nn.log_softmax(decoder.unembed(model, decoder.forward(model, rows)), axis=-1)
        for member in range(data.member.shape[1]):
            for t in range(int(data.length[group, member])):
                new = log_probs[member, size + t - 1, data.member[group, member, t]]
                ratio = jnp.exp(new - data.old_log_probs[group, member, t])
                gain = data.advantage[group, member]
                clipped = jnp.clip(ratio, 1 - settings.clip_low, 1 + settings.clip_high)
                total -= data.weight[group, member] * jnp.minimum(ratio * gain, clipped * gain)
    return total


def test_loss_and_gradient_equal_the_plain_row_wise_program(model: Decoder) -> None:
    settings, data = config.Objective(), batch(groups=2)
    graph, params = nnx.split(model)
    loss, grads = jax.value_and_grad(lambda p: policy_loss(graph, settings, p, None, data)[0])(params)
    expected, row_grads = jax.value_and_grad(lambda p: row_wise_loss(nnx.merge(graph, p), data, settings))(params)
    np.testing.assert_allclose(loss, expected, rtol=TOLERANCE)
    for ours, theirs in zip(jax.tree.leaves(grads), jax.tree.leaves(row_grads), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=TOLERANCE * float(jnp.abs(theirs).max() + 1e-3))


def updated(model: Decoder, batches: list[MicroBatch]) -> tuple[Any, dict[str, float]]:
    graph, params = nnx.split(jax.tree.map(jnp.copy, model))
    optimizer = optax.sgd(1.0)
    return Updater(graph, optimizer, config.Objective())(init_state(params, optimizer), batches)


def part(data: MicroBatch, rows: slice) -> MicroBatch:
    return jax.tree.map(lambda array: array[rows], data)


def test_micro_batches_add_up_to_the_batch(model: Decoder) -> None:
    data = batch()
    whole, whole_metrics = updated(model, [data])
    parts, part_metrics = updated(model, [part(data, slice(0, 2)), part(data, slice(2, 4))])
    for ours, theirs in zip(jax.tree.leaves(parts.params), jax.tree.leaves(whole.params), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=TOLERANCE)
    for name, value in whole_metrics.items():
        np.testing.assert_allclose(part_metrics[name], value, rtol=1e-4, atol=1e-6)


def test_a_member_of_no_weight_changes_nothing_whatever_it_holds(model: Decoder) -> None:
    data = batch()
    masked = data.weight.at[1].set(0.0)
    first = MicroBatch(**{**vars(data), "weight": masked})
    garbage = MicroBatch(
        **{**vars(first), "member": data.member.at[1].set(0), "old_log_probs": data.old_log_probs.at[1].set(jnp.nan)}
    )
    for ours, theirs in zip(
        jax.tree.leaves(updated(model, [first])[0].params),
        jax.tree.leaves(updated(model, [garbage])[0].params),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-7)


def test_a_batch_of_dead_groups_leaves_the_parameters_alone(model: Decoder) -> None:
    state, metrics = updated(model, [])
    for ours, theirs in zip(jax.tree.leaves(state.params), jax.tree.leaves(nnx.split(model)[1]), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert metrics["loss"] == metrics["grad_norm"] == 0.0


def test_the_kl_term_is_zero_at_the_reference_and_pulls_back_to_it(model: Decoder) -> None:
    graph, params = nnx.split(model)
    settings = config.Objective(kl_coefficient=1.0)
    still = MicroBatch(**{**vars(batch()), "advantage": jnp.zeros((4, 3), jnp.float32)})
    loss, sums = policy_loss(graph, settings, params, params, still)
    assert abs(float(loss)) < TOLERANCE and abs(float(sums["kl"])) < TOLERANCE
    moved = jax.tree.map(lambda x: x * 1.1, params)
    loss, sums = policy_loss(graph, settings, moved, params, still)
    assert float(loss) == pytest.approx(float(sums["kl"]), rel=1e-4)
    assert float(loss) > 0.0
