"""Everything a resume needs, saved by orbax: parameters, optimizer state, step, and the place in the data.

A checkpoint is written beside its final name and renamed when it is whole, so a crash while saving leaves the previous
one usable. The root key is not saved: it follows from the seed in the configuration, and a step's key from the step.
"""

from pathlib import Path
from types import TracebackType
from typing import Any

import grain
import jax
import orbax.checkpoint as ocp

from murphy_jax.errors import UserError
from murphy_jax.training.state import TrainState


class Checkpoints:
    """The checkpoints of one run folder; a context manager that waits for the last save."""

    def __init__(self, folder: Path, *, keep: int) -> None:
        self._folder = folder.resolve()
        options = ocp.CheckpointManagerOptions(max_to_keep=keep, create=True)
        self._manager = ocp.CheckpointManager(self._folder, options=options, item_names=("state", "data"))

    def __enter__(self) -> "Checkpoints":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._manager.wait_until_finished()
        self._manager.close()

    @property
    def latest(self) -> int | None:
        """The newest step that was saved whole, or None."""
        step = self._manager.latest_step()
        return None if step is None else int(step)

    def save(self, step: int, state: TrainState, data: Any) -> None:
        """Save `step` in the background; a step that is saved already is left as it is."""
        if step == self.latest:
            return
        arguments = ocp.args.Composite(state=ocp.args.StandardSave(state), data=grain.checkpoint.CheckpointSave(data))
        self._manager.save(step, args=arguments)

    def restore(self, state: TrainState, data: Any) -> tuple[int, TrainState]:
        """The newest step and its state; `data` is moved to its place. `state` gives shapes and shardings.

        Raises:
            UserError: there is none, it cannot be read, or it is of another model.
        """
        step = self.latest
        if step is None:
            raise UserError(f"{self._folder} holds no checkpoint. Start the run without --resume.")
        abstract = jax.tree.map(ocp.utils.to_shape_dtype_struct, state)
        arguments = ocp.args.Composite(
            state=ocp.args.StandardRestore(abstract), data=grain.checkpoint.CheckpointRestore(data)
        )
        try:
            restored = self._manager.restore(step, args=arguments)
        except Exception as error:  # orbax raises a different type for each kind of damage
            raise UserError(
                f"Cannot restore step {step} from {self._folder}: {_first_line(error)} "
                f"If the folder {step} is damaged, remove it to go on from the one before; "
                "if the model was changed, start another run folder."
            ) from error
        return step, restored["state"]


def _first_line(error: Exception) -> str:
    line = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
    return line if line.endswith(".") else line + "."
