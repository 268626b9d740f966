"""A run folder as `murphy train` leaves it, read whole: settings, metrics, recorded trees, evaluations."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from murphy_jax.errors import UserError
from murphy_jax.observe import metrics

FILES = ("config.yaml", "metrics.jsonl", "trees.jsonl", "evaluations.jsonl")


@dataclass(frozen=True, kw_only=True)
class RunFolder:
    """What a run has recorded so far; every part may be empty.

    Attributes:
        name: the folder's name.
        config: the resolved configuration, YAML text.
        metrics: one flat record a step, in step order, one a step.
        trees: recorded rollout trees.
        evaluations: held-out evaluations.
    """

    name: str
    config: str
    metrics: list[dict[str, Any]]
    trees: list[dict[str, Any]]
    evaluations: list[dict[str, Any]]


def load(folder: Path) -> RunFolder:
    """Read `folder`.

    Raises:
        UserError: it is no run folder, or one of its files cannot be read.
    """
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder. Give the run folder that murphy train wrote.")
    if not any((folder / name).is_file() for name in FILES):
        raise UserError(
            f"{folder} is not a run folder: it has none of {', '.join(FILES)}. Give the folder that murphy train wrote."
        )
    by_step = {
        record["step"]: record for record in metrics.read(folder / FILES[1]) if isinstance(record.get("step"), int)
    }
    return RunFolder(
        name=folder.resolve().name,
        config=_text(folder / FILES[0]),
        metrics=[by_step[step] for step in sorted(by_step)],
        trees=metrics.read(folder / FILES[2]),
        evaluations=metrics.read(folder / FILES[3]),
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    except OSError as error:
        raise UserError(f"Cannot read {path}: {error.strerror}.") from None
