"""Descendants of the zygote: found, counted and killed, also those that left their group and session.

The zygote is the first process of its namespace or a child subreaper, so an orphan becomes its child: once it has no
child left, nothing of a job is alive.
"""

import contextlib
import os
import signal
from pathlib import Path

from .isolation import PROCESSES, Isolation


def reap(isolation: Isolation) -> None:
    """Kill and collect all children; returns when there is none."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                _kill(isolation)
                os.waitpid(-1, 0)
        except ChildProcessError:
            return


def count() -> int:
    """How many descendants this process has; 0 where /proc does not tell."""
    return len(_descendants())


def _kill(isolation: Isolation) -> None:
    if PROCESSES in isolation.held:
        assert os.getpid() == 1, "only the first process of its own namespace may signal every process that it sees"
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        return
    for pid in _descendants():
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _descendants() -> list[int]:
    """Their process numbers as /proc shows them: those of this namespace only where /proc belongs to it."""
    try:
        me = int(Path("/proc/self").readlink().name)
    except OSError:
        return []
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError, ValueError):
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(stat.parent.name))
    found, pending = [], [me]
    while pending:
        below = children.get(pending.pop(), [])
        found += below
        pending += below
    return found
