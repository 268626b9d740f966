"""The folder of a run: claimed by one process at a time, resumed only with the configuration it was made with."""

import fcntl
from pathlib import Path
from typing import Self, TextIO

from murphy_jax import config
from murphy_jax.errors import UserError

RESUMABLE = ("training.steps", "training.save_every", "training.keep_checkpoints", "training.compilation_cache")


class RunFolder:
    """Paths of a run, and the claim on them, which a `with` gives up at its end."""

    def __init__(self, settings: config.Config, *, resume: bool) -> None:
        """Make the folder, or take up the one that is there.

        Raises:
            UserError: it holds a run and `resume` is false, or a different run, or other files, or is in use.
        """
        self.path = Path(settings.training.directory).expanduser()
        self.metrics = self.path / "metrics.jsonl"
        self.trees = self.path / "trees.jsonl"
        self.evaluations = self.path / "evaluations.jsonl"
        self.checkpoints = self.path / "checkpoints"
        self.model = self.path / "model"
        saved = self.path / "config.yaml"
        if saved.exists() and not resume:
            raise UserError(
                f"{self.path} holds a run already. Go on with it by --resume, "
                "or choose another folder by --training.directory."
            )
        if not saved.exists() and self.path.is_dir() and any(self.path.iterdir()):
            raise UserError(f"{self.path} is not empty and not a run. Choose another folder by --training.directory.")
        if saved.exists():
            _check_same(settings, config.load(saved, {}), self.path)
        self.path.mkdir(parents=True, exist_ok=True)
        self._claim = _claim(self.path)
        saved.write_text(config.dump(settings), encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._claim.close()


def _claim(path: Path) -> TextIO:
    """Hold the folder until the handle is closed or the process ends, however it ends."""
    handle = (path / ".claim").open("w")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        handle.close()
        raise UserError(f"{path} is in use by another process. Wait for it, or choose another folder.") from None
    return handle


def _check_same(given: config.Config, saved: config.Config, path: Path) -> None:
    changed = [
        f"{section}.{key}"
        for section, value in given.model_dump(mode="json").items()
        for key, new in (value or {}).items()
        if new != (saved.model_dump(mode="json")[section] or {}).get(key) and f"{section}.{key}" not in RESUMABLE
    ]
    if changed:
        raise UserError(
            f"{path} was made with another {', '.join(changed)}. Resume with the same values (see {path}/config.yaml), "
            "or choose another folder by --training.directory."
        )
