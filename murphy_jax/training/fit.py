"""The training run: owns what changes (state, place in the data, the run folder's files) and nothing else.

    for each step:  tasks -> Step -> metrics.jsonl, trees.jsonl, now and then a checkpoint and an evaluation

A step's randomness follows from the seed and the step's number, so a resumed run equals one that was never stopped.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import jax
from rich.console import Console

from murphy_jax import config, models
from murphy_jax.evaluation.evaluator import Evaluator
from murphy_jax.observe import metrics as metrics_log
from murphy_jax.observe.progress import TrainingProgress, iteration_table
from murphy_jax.rollout.executor import make_sandbox
from murphy_jax.rollout.load import Loaded, check_lengths, load_policy
from murphy_jax.tasks import load as task_loader
from murphy_jax.tasks import pipeline, tokenizer
from murphy_jax.tasks.task import Task
from murphy_jax.training.checkpoint import Checkpoints
from murphy_jax.training.interrupt import Interrupt
from murphy_jax.training.records import tree_records
from murphy_jax.training.run_folder import RunFolder
from murphy_jax.training.state import TrainState, init_state
from murphy_jax.training.step import Step, StepResult


def train(settings: config.Config, *, resume: bool, console: Console) -> int:
    """Run or resume a training run; returns the exit code of the process.

    Raises:
        UserError: bad input, or a run that cannot go on; what was saved stays.
    """
    config.check_training(settings)
    enable_compilation_cache(settings.training)
    tasks = task_loader.load(settings.tasks)
    data = pipeline.batches(tasks, seed=settings.training.seed, batch_size=settings.rollout.prompts_per_step)
    loaded = load_policy(settings.model, seed=settings.training.seed)
    check_lengths(settings.rollout, loaded)
    with ExitStack() as stack:
        sandbox = stack.enter_context(make_sandbox(settings.sandbox))
        evaluator = Evaluator(settings, loaded, loaded.tokenizer, sandbox)
        folder = RunFolder(settings, resume=resume)
        checkpoints = stack.enter_context(Checkpoints(folder.checkpoints, keep=settings.training.keep_checkpoints))
        interrupt = stack.enter_context(Interrupt())
        progress = stack.enter_context(
            TrainingProgress(settings.training.steps, console=console, num_turns=settings.rollout.turns)
        )
        run = _Run(settings, loaded, Step(settings, loaded, sandbox), evaluator, folder, checkpoints, progress)
        finished = run.loop(data, interrupt)
        if not finished:
            progress.note(
                f"Stopped by {interrupt.signal.name if interrupt.signal else 'request'} and saved. Go on with --resume."
            )
            return interrupt.exit_code
    console.print(iteration_table(*run.before_and_after()))
    console.print(f"Run folder: {folder.path}    model: {folder.model}    report: murphy report {folder.path}")
    return 0


class _Run:
    """The files and programs of one run, and the loop over its steps."""

    def __init__(
        self,
        settings: config.Config,
        loaded: Loaded,
        step: Step,
        evaluator: Evaluator,
        folder: RunFolder,
        checkpoints: Checkpoints,
        progress: TrainingProgress,
    ) -> None:
        self._settings, self._loaded, self._step, self._evaluator = settings, loaded, step, evaluator
        self._folder, self._checkpoints, self._progress = folder, checkpoints, progress
        self._metrics = metrics_log.MetricsLog(folder.metrics)
        self._trees = metrics_log.MetricsLog(folder.trees)
        self._evaluations = metrics_log.MetricsLog(folder.evaluations)

    def loop(self, data: Any, interrupt: Interrupt) -> bool:
        """Train to the last step; false where a signal came first."""
        training = self._settings.training
        state = self._restore(init_state(self._loaded.params, self._step.optimizer), data)
        if int(state.step) == 0:
            self._evaluate(state, 0)
        root = jax.random.key(training.seed)
        for step in range(int(state.step) + 1, training.steps + 1):
            result = self._step(state, _next(data), jax.random.fold_in(root, step))
            state = result.state
            self._write(result, step)
            if step % training.save_every == 0 or step == training.steps or interrupt.signal is not None:
                self._checkpoints.save(step, state, data)
            every = self._settings.evaluation.every
            if step == training.steps or (every and step % every == 0):
                self._evaluate(state, step)
            if interrupt.signal is not None and step < training.steps:
                return False
        self._export(state)
        return True

    def before_and_after(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The first and the last evaluation of the run."""
        records = metrics_log.read(self._folder.evaluations)
        return records[0], records[-1]

    def _restore(self, state: TrainState, data: Any) -> TrainState:
        """The newest checkpoint's state, with the logs cut back to it; the given state where there is none."""
        step = self._checkpoints.latest
        if step is not None:
            step, state = self._checkpoints.restore(state, data)
            self._progress.note(f"Resumed from step {step}.")
        for log in (self._metrics, self._trees, self._evaluations):
            log.truncate_after(step or 0)
        return state

    def _evaluate(self, state: TrainState, step: int) -> None:
        if any(record["step"] == step for record in metrics_log.read(self._folder.evaluations)):
            return
        evaluation = self._evaluator(state.params)
        record = evaluation.record(step=step, benchmark=self._settings.evaluation.tasks.benchmark)
        self._evaluations.write(step, record)
        rates = "  ".join(f"Iter-{i['iteration']} {i['pass_rate']:.1%}" for i in record["iterations"])
        self._progress.note(f"held-out after step {step}: {rates}")

    def _write(self, result: StepResult, step: int) -> None:
        training = self._settings.training
        self._metrics.write(step, result.metrics)
        self._progress.update(step, result.metrics)
        if training.tree_every and (step % training.tree_every == 0 or step == 1):
            for record in tree_records(
                result.rollout,
                result.assignment,
                self._loaded.tokenizer,
                step=step,
                count=training.trees_per_record,
                turns=self._settings.rollout.turns,
                feedback_characters=self._settings.rollout.feedback_characters,
            ):
                self._trees.write(step, record)

    def _export(self, state: TrainState) -> None:
        export(self._loaded, state, self._folder.model)


def export(loaded: Loaded, state: TrainState, folder: Path) -> None:
    """Write the policy as an HF folder: weights, config and tokenizer."""
    from flax import nnx

    models.save(nnx.merge(loaded.graph, state.params), folder, dtype="bfloat16")
    tokenizer.copy(loaded.tokenizer_folder, folder)


def enable_compilation_cache(training: config.Training) -> None:
    """Keep compiled programs between runs."""
    if training.compilation_cache is not None:
        update: Callable[[str, object], None] = jax.config.update
        update("jax_compilation_cache_dir", str(Path(training.compilation_cache).expanduser()))
        update("jax_persistent_cache_min_compile_time_secs", 0.5)


def _next(data: Iterator[Any]) -> list[Task]:
    return list(next(data))
