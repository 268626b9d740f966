"""The tasks that a configuration names."""

from pathlib import Path

from murphy_jax import config
from murphy_jax.errors import UserError
from murphy_jax.tasks import humaneval, mbpp, repair
from murphy_jax.tasks.task import Task


def load(settings: config.Tasks, *, held_out: bool = False) -> tuple[Task, ...]:
    """Load or generate the tasks; of a benchmark with a split of its own, held-out ones where none is named.

    Raises:
        UserError: the file cannot be read or a row is malformed, or no task is left.
    """
    path = None if settings.path is None else Path(settings.path).expanduser()
    match settings.benchmark:
        case "repair":
            split = settings.split or ("heldout" if held_out else "train")
            count = settings.count or (64 if held_out else 2000)
            return tuple(example.task for example in repair.generate(count=count, seed=settings.seed, split=split))
        case "humaneval":
            tasks = humaneval.load(path)
        case "mbpp":
            tasks = mbpp.load(path, split=settings.split or "all")
    if not tasks:
        raise UserError(f"{settings.path or settings.benchmark} has no task. Give a file with at least one row.")
    return tasks[: settings.count]
