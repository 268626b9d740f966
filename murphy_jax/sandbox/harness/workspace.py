"""The directory that a program runs in: empty at the start of each, and the only one that is ever emptied.

Making and removing a directory costs more than running a small program, so one that a program left as it found it, by
its change time, mode and entries, is used again.
"""

import contextlib
import itertools
import os
from collections.abc import Iterator
from pathlib import Path


class Workspace:
    """A directory `run` inside the zygote's own.

    Args:
        parent: the zygote's directory, made by the trainer with `mkdtemp`.
        user: who owns the workspace, None for the user of this process.
    """

    def __init__(self, parent: Path, user: int | None) -> None:
        self.path = parent / "run"
        self._user = user
        self._made = self._make()

    def clean(self) -> None:
        """Empty the directory; no process of a program may be alive."""
        if self._state() == self._made:
            return
        if self.path.is_symlink() or not self.path.is_dir():
            self.path.unlink(missing_ok=True)
        else:
            empty(self.path)
            self.path.rmdir()
        self._made = self._make()

    def close(self) -> None:
        """Remove the directory; it was cleaned before."""
        self.path.rmdir()

    def _make(self) -> tuple[int, ...]:
        self.path.mkdir(mode=0o700)
        if self._user is not None:
            os.chown(self.path, self._user, self._user)
        return self._state()

    def _state(self) -> tuple[int, ...]:
        """What differs once the directory was changed; nothing if it is no longer there."""
        try:
            status = self.path.lstat()
            num_entries = sum(1 for _ in self.path.iterdir())
        except OSError:
            return ()
        return status.st_ino, status.st_ctime_ns, status.st_mode, status.st_uid, num_entries


def empty(folder: Path) -> None:
    """Remove all that a directory holds, however deep and whatever its permissions.

    Directories are moved up to `folder` before they are opened, so depth costs nothing, and one that something is
    mounted on stays as it is, because the kernel moves no mount point. No link is followed.

    Raises:
        OSError: something cannot be removed.
    """
    prefix = os.urandom(8).hex()
    names = (f"{prefix}-{number}" for number in itertools.count())
    with _opened(folder, None) as top:
        while _entries(top):
            for name, is_folder in _entries(top):
                if not is_folder:
                    os.unlink(name, dir_fd=top)
                    continue
                moved = next(names)
                os.rename(name, moved, src_dir_fd=top, dst_dir_fd=top)
                os.chmod(moved, 0o700, dir_fd=top)
                with _opened(moved, top) as inner:
                    _lift(inner, top, names)
                os.rmdir(moved, dir_fd=top)


def _lift(inner: int, top: int, names: Iterator[str]) -> None:
    """Move the directories in `inner` up to `top`, remove the rest."""
    for name, is_folder in _entries(inner):
        if is_folder:
            os.chmod(name, 0o700, dir_fd=inner)  # to move a directory its user must be allowed to write it
            os.rename(name, next(names), src_dir_fd=inner, dst_dir_fd=top)
        else:
            os.unlink(name, dir_fd=inner)


def _entries(descriptor: int) -> list[tuple[str, bool]]:
    """The names in an open directory, and which are directories themselves."""
    with os.scandir(descriptor) as entries:
        return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]


@contextlib.contextmanager
def _opened(path: str | Path, inside: int | None) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=inside)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
