"""Supervised warm start on solved examples of the repair family.

    single turn   task                              -> reference
    repair turn   task, wrong attempt, its feedback -> reference, or the attempt again

A wrong attempt takes another alternative of what the prompt leaves open; its feedback comes from the real executor, so
the examples look just like what the trained policy will meet. `sft.repeat_share` of the repairs repeat the attempt,
a habit that training can then correct. The loss is the mean over target tokens.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jaxtyping import Array, Float
from rich.console import Console

from murphy_jax import config
from murphy_jax.errors import UserError
from murphy_jax.evaluation.evaluator import Evaluator
from murphy_jax.models.decoder import Decoder
from murphy_jax.observe import metrics as metrics_log
from murphy_jax.observe.progress import Progress, iteration_table
from murphy_jax.rollout.executor import make_sandbox
from murphy_jax.rollout.grow import Attempt
from murphy_jax.rollout.load import Loaded, check_lengths, load_policy, make_render
from murphy_jax.rollout.policy import context_buckets
from murphy_jax.sandbox import Sandbox
from murphy_jax.tasks import repair
from murphy_jax.training.fit import enable_compilation_cache, export
from murphy_jax.training.log_probs import completion_log_probs
from murphy_jax.training.run_folder import RunFolder
from murphy_jax.training.state import TrainState, init_state, make_optimizer
from murphy_jax.training.update import bucket_of


@dataclass(frozen=True, kw_only=True)
class Example:
    """One solved example: token ids of the context and of the target, the stop token included."""

    context: np.ndarray
    target: np.ndarray


def sft(settings: config.Config, *, console: Console) -> int:
    """Train on solved examples, evaluate, export an HF folder; returns the exit code.

    Raises:
        UserError: bad input.
    """
    if settings.sft is None:
        raise UserError("No section sft: murphy sft needs sft.examples, sft.repair_share or sft.batch_size set.")
    enable_compilation_cache(settings.training)
    loaded = load_policy(settings.model, seed=settings.training.seed)
    with ExitStack() as stack:
        sandbox = stack.enter_context(make_sandbox(settings.sandbox))
        evaluator = Evaluator(settings, loaded, loaded.tokenizer, sandbox)
        check_lengths(settings.rollout, loaded, evaluator.tasks)
        examples = make_examples(settings, loaded, sandbox)
        folder = stack.enter_context(RunFolder(settings, resume=False))
        log = metrics_log.MetricsLog(folder.metrics)
        optimizer = make_optimizer(settings.optimizer, total_steps=settings.training.steps)
        state = init_state(loaded.params, optimizer)
        update = make_update(loaded.graph, optimizer)
        batches = _batches(examples, settings)
        with Progress("warm start", settings.training.steps, console=console) as progress:
            for step in range(1, settings.training.steps + 1):
                state, loss = update(state, *next(batches))
                log.write(step, {"loss": float(loss)})
                progress.advance(status=f"loss {float(loss):.3f}")
        export(loaded, state, folder.model)
        record = evaluator(state.params).record(
            step=settings.training.steps, benchmark=settings.evaluation.tasks.benchmark
        )
        fields = {name: value for name, value in record.items() if name != "step"}
        metrics_log.MetricsLog(folder.evaluations).write(settings.training.steps, fields)
    console.print(iteration_table(record, None))
    console.print(f"Model: {folder.model}")
    return 0


def make_examples(settings: config.Config, loaded: Loaded, sandbox: Sandbox) -> list[Example]:
    """Solved examples of the configured repair tasks, single-turn and repair-turn, in a fixed random order."""
    assert settings.sft is not None
    random = np.random.default_rng(settings.training.seed)
    tasks = repair.generate(count=settings.sft.examples, seed=settings.tasks.seed, split="train")
    render = make_render(loaded.tokenizer, settings.rollout)
    repairs = random.random(len(tasks)) < settings.sft.repair_share
    repeats = random.random(len(tasks)) < settings.sft.repeat_share
    attempts = [
        _fenced(str(random.choice(repair.alternatives(example)))) if wanted else None
        for example, wanted in zip(tasks, repairs, strict=True)
    ]
    verdicts = iter(
        sandbox.run(
            [
                example.task.program(_source(attempt))
                for example, attempt in zip(tasks, attempts, strict=True)
                if attempt is not None
            ]
        )
    )
    examples = []
    for example, attempt, repeat in zip(tasks, attempts, repeats, strict=True):
        history = () if attempt is None else (Attempt(completion=attempt, verdict=next(verdicts)),)
        assert example.task.reference is not None
        answer = attempt if attempt is not None and repeat else _fenced(example.task.reference)
        target = loaded.tokenizer.encode(answer, add_special_tokens=False)
        limit = settings.rollout.max_completion_tokens
        if len(target) < limit:
            context = np.asarray(render(example.task, history), np.int32)
            examples.append(Example(context=context, target=np.asarray([*target, loaded.stop_ids[0]], np.int32)))
    return examples


def make_update(graph: nnx.GraphDef[Decoder], optimizer: optax.GradientTransformation) -> Any:
    """The jitted (state, context, context_length, target, target_length) -> (state, loss)."""

    def loss(params: nnx.State, context: Array, context_length: Array, target: Array, length: Array) -> Any:
        log_probs, _ = completion_log_probs(nnx.merge(graph, params), context, context_length, target[:, None])
        inside = jnp.arange(target.shape[1])[None, :] < length[:, None]
        return -jnp.sum(jnp.where(inside, log_probs[:, 0], 0.0)) / jnp.maximum(1, jnp.sum(length)).astype(jnp.float32)

    def update(state: TrainState, *batch: Array) -> tuple[TrainState, Float[Array, ""]]:
        value, grads = jax.value_and_grad(loss)(state.params, *batch)
        updates, opt_state = optimizer.update(grads, state.opt_state, state.params)
        params = optax.apply_updates(state.params, updates)
        return TrainState(params=params, opt_state=opt_state, step=state.step + 1), value

    return jax.jit(update, donate_argnums=0)


def _batches(examples: Sequence[Example], settings: config.Config) -> Iterator[tuple[Array, ...]]:
    """Endless padded batches, reshuffled every epoch, each of one context bucket."""
    assert settings.sft is not None
    size, buckets = settings.sft.batch_size, context_buckets(settings.rollout)
    time = settings.rollout.max_completion_tokens
    random = np.random.default_rng(settings.training.seed + 1)
    classes: dict[int, list[Example]] = {}
    while True:
        order = random.permutation(len(examples))
        for index in order:
            example = examples[index]
            pending = classes.setdefault(bucket_of(len(example.context), buckets), [])
            pending.append(example)
            if len(pending) == size:
                yield _pad(pending, bucket_of(len(example.context), buckets), time)
                pending.clear()


def _pad(examples: Sequence[Example], bucket: int, time: int) -> tuple[Array, ...]:
    context, target = np.zeros((len(examples), bucket), np.int32), np.zeros((len(examples), time), np.int32)
    for row, example in enumerate(examples):
        context[row, : len(example.context)] = example.context
        target[row, : len(example.target)] = example.target
    context_length = np.array([len(example.context) for example in examples], np.int32)
    length = np.array([len(example.target) for example in examples], np.int32)
    return tuple(map(jnp.asarray, (context, context_length, target, length)))


def _fenced(source: str) -> str:
    return f"```python\n{source}\n```"


def _source(completion: str) -> str:
    from murphy_jax.rollout.extraction import extract_program

    return extract_program(completion)
