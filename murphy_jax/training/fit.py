"""The training run: owns what changes (state, place in the data, the run folder's files) and nothing else.

    for each step:  tasks -> Step -> metrics.jsonl, trees.jsonl, now and then a checkpoint and an evaluation

A step's randomness follows from the seed and the step's number, so a resumed run equals one that was never stopped.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from signal import Signals
from typing import Any

import jax
from flax import nnx
from rich.console import Console

from murphy_jax import config, models
from murphy_jax.evaluation.evaluator import Evaluator
from murphy_jax.observe import metrics as metrics_log
from murphy_jax.observe.progress import TrainingProgress, iteration_table
from murphy_jax.rollout.executor import make_sandbox
from murphy_jax.rollout.load import Loaded, check_lengths, load_policy
from murphy_jax.tasks import load as task_loader
from murphy_jax.tasks import pipeline, tokenizer
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
    data = pipeline.batches(
        tasks,
        seed=settings.training.seed,
        batch_size=settings.rollout.prompts_per_step,
        shard_index=jax.process_index(),
        shard_count=jax.process_count(),
    )
    loaded = load_policy(settings.model, seed=settings.training.seed)
    check_lengths(settings.rollout, loaded, tasks)
    with ExitStack() as stack:
        sandbox = stack.enter_context(make_sandbox(settings.sandbox))
        evaluator = Evaluator(settings, loaded, loaded.tokenizer, sandbox)
        check_lengths(settings.rollout, loaded, evaluator.tasks)
        folder = stack.enter_context(RunFolder(settings, resume=resume))
        checkpoints = stack.enter_context(Checkpoints(folder.checkpoints, keep=settings.training.keep_checkpoints))
        interrupt = stack.enter_context(Interrupt())
        progress = stack.enter_context(
            TrainingProgress(
                settings.training.steps,
                console=console,
                num_turns=settings.rollout.turns,
                done=checkpoints.latest or 0,
            )
        )
        run = _Run(
            settings=settings,
            loaded=loaded,
            step=Step(settings, loaded, sandbox),
            evaluator=evaluator,
            folder=folder,
            checkpoints=checkpoints,
            progress=progress,
        )
        stopped = run.loop(data, interrupt)
    if stopped:
        console.print(f"Stopped by {stopped.name}; everything is saved in {folder.path}. Go on with --resume.")
        return interrupt.exit_code
    evaluations = metrics_log.read(folder.evaluations)
    console.print(iteration_table(evaluations[0], evaluations[-1]))
    console.print(f"Run folder: {folder.path}    model: {folder.model}    report: murphy report {folder.path}")
    return 0


@dataclass(frozen=True, kw_only=True)
class _Run:
    """The programs and files of one run, and the loop over its steps."""

    settings: config.Config
    loaded: Loaded
    step: Step
    evaluator: Evaluator
    folder: RunFolder
    checkpoints: Checkpoints
    progress: TrainingProgress

    def loop(self, data: Any, interrupt: Interrupt) -> Signals | None:
        """Train to the last step; the signal that came first, where one did."""
        training, every = self.settings.training, self.settings.evaluation.every
        state = self._restore(init_state(self.loaded.params, self.step.optimizer), data)
        if int(state.step) == 0:
            self._evaluate(state, 0)
        root = jax.random.key(training.seed)
        for step in range(int(state.step) + 1, training.steps + 1):
            result = self.step(state, next(data), jax.random.fold_in(root, step))
            state, stop = result.state, interrupt.signal
            self._write(result, step)
            if stop is not None or step % training.save_every == 0 or step == training.steps:
                self.checkpoints.save(step, state, data)
            if stop is not None and step < training.steps:
                return stop
            if step == training.steps or (every and step % every == 0):
                self._evaluate(state, step)
        export(self.loaded, state, self.folder.model)
        return None

    def _restore(self, state: TrainState, data: Any) -> TrainState:
        """The newest checkpoint's state, with the logs cut back to it; the given state where there is none."""
        step = self.checkpoints.latest
        if step is not None:
            step, state = self.checkpoints.restore(state, data)
            self.progress.note(f"Resumed from step {step}.")
        for path in (self.folder.metrics, self.folder.trees, self.folder.evaluations):
            metrics_log.MetricsLog(path).truncate_after(step or 0)
        return state

    def _evaluate(self, state: TrainState, step: int) -> None:
        if any(record["step"] == step for record in metrics_log.read(self.folder.evaluations)):
            return
        record = self.evaluator(state.params).record(step=step, benchmark=self.settings.evaluation.tasks.benchmark)
        _append(self.folder.evaluations, step, record)
        rates = "  ".join(f"Iter-{i['iteration']} {i['pass_rate']:.1%}" for i in record["iterations"])
        self.progress.note(f"held-out after step {step}: {rates}")

    def _write(self, result: StepResult, step: int) -> None:
        training = self.settings.training
        _append(self.folder.metrics, step, result.metrics)
        self.progress.update(step, result.metrics)
        if training.tree_every and (step % training.tree_every == 0 or step == 1):
            for record in tree_records(
                result.rollout,
                result.assignment,
                self.loaded.tokenizer,
                step=step,
                count=training.trees_per_record,
                settings=self.settings.rollout,
            ):
                _append(self.folder.trees, step, record)


def _append(path: Path, step: int, record: Mapping[str, object]) -> None:
    fields = {name: value for name, value in record.items() if name != "step"}
    metrics_log.MetricsLog(path).write(step, fields)


def export(loaded: Loaded, state: TrainState, folder: Path) -> None:
    """Write the policy as an HF folder: weights, config and tokenizer."""
    models.save(nnx.merge(loaded.graph, state.params), folder, dtype="bfloat16")
    tokenizer.copy(loaded.tokenizer_folder, folder)


def enable_compilation_cache(training: config.Training) -> None:
    """Keep compiled programs between runs."""
    if training.compilation_cache is not None:
        update: Callable[[str, object], None] = jax.config.update
        update("jax_compilation_cache_dir", str(Path(training.compilation_cache).expanduser()))
        update("jax_persistent_cache_min_compile_time_secs", 0.5)
