"""`murphy evaluate`: a table in the terminal and, where wanted, every verdict in a file."""

import json
from pathlib import Path
from typing import Any

from rich.console import Console

from murphy_jax import config
from murphy_jax.errors import UserError
from murphy_jax.evaluation.evaluator import Evaluator
from murphy_jax.evaluation.iterate import Evaluation
from murphy_jax.observe.progress import iteration_table
from murphy_jax.rollout.executor import make_sandbox
from murphy_jax.rollout.load import Loaded, check_lengths, load_policy, resolve
from murphy_jax.tasks import tokenizer as tokenizers


def evaluate(settings: config.Config, *, console: Console) -> int:
    """Evaluate the configured policy and print pass@1 after each iteration; returns the exit code.

    Raises:
        UserError: bad input, or the grader failed more often than allowed.
    """
    loaded = load_policy(settings.model, seed=settings.training.seed) if settings.evaluation.policy == "model" else None
    with make_sandbox(settings.sandbox) as sandbox:
        evaluator = Evaluator(settings, loaded, _tokenizer(settings, loaded), sandbox)
        if loaded is not None:
            check_lengths(settings.rollout, loaded, evaluator.tasks)
        evaluation = evaluator(None if loaded is None else loaded.params)
    record = evaluation.record(step=0, benchmark=settings.evaluation.tasks.benchmark)
    if settings.evaluation.output is not None:
        _write(evaluation, Path(settings.evaluation.output).expanduser())
    console.print(iteration_table(record, None))
    solved = int(evaluation.solved[:, :, 0].all(axis=1).sum())
    console.print(f"{solved} of {record['num_tasks']} tasks solved at the first attempt in every sample.")
    if record["infra_share"] > settings.sandbox.max_infra_share:
        raise UserError(
            f"The sandbox failed on {record['infra_share']:.1%} of the programs by its own fault: the table is not "
            "to be trusted. Check memory, disk and processes of this machine, then run it again."
        )
    return 0


def _tokenizer(settings: config.Config, loaded: Loaded | None) -> Any:
    """The policy's own; a policy without a model has its prompts counted by the one that ships."""
    if loaded is not None:
        return loaded.tokenizer
    return tokenizers.load(resolve(settings.model.tokenizer or settings.model.folder or "asset:quickstart"))


def _write(evaluation: Evaluation, path: Path) -> None:
    """One JSON line an attempt: task, iteration, program, verdict."""
    lines = [_line(group) for group in evaluation.rollout.groups]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    except OSError as error:
        raise UserError(f"Cannot write {path}: {error.strerror}. Choose another evaluation.output.") from None


def _line(group: Any) -> dict[str, Any]:
    verdict = group.verdicts[0]
    return {
        "task_id": group.request.task.task_id,
        "attempt": group.request.prompt,
        "iteration": group.request.turn,
        "program": group.programs[0],
        "outcome": str(verdict.outcome),
        "fraction": verdict.fraction,
        "tests": [{"outcome": str(t.outcome), "case": t.case, "message": t.message} for t in verdict.tests],
    }
