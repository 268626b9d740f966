"""What a forked child does to itself before the program runs: streams, directory, resource limits, user."""

import math
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

from .isolation import Isolation, drop

SPARE_BYTES = 16 * 2**20
STACK_BYTES = 64 * 2**20
OPEN_FILES = 64
MAX_DESCRIPTOR = 1024


def confine(limits: dict[str, Any], folder: Path, isolation: Isolation, results: int, output: int) -> None:
    """Leave this process nothing but its directory, its output and the pipe for its results.

    Args:
        limits: the fields of `Limits`.
        folder: becomes the working directory.
        isolation: whose user to take.
        results: a descriptor to keep.
        output: the descriptor that becomes standard output and error.
    """
    os.setsid()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.closerange(3, results)
    os.closerange(results + 1, MAX_DESCRIPTOR)
    os.chdir(folder)
    os.environ.update(HOME=str(folder), TMPDIR=str(folder))
    _limit_resources(limits, isolation)
    drop(isolation)


def unreserve() -> None:
    """Free the memory that is kept back for the report of a program that used all of its own."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def _limit_resources(limits: dict[str, Any], isolation: Isolation) -> None:
    cpu = math.ceil(limits["cpu_seconds"]) + 1
    _limit(resource.RLIMIT_CPU, cpu, cpu + 1)
    _limit(resource.RLIMIT_FSIZE, limits["file_bytes"], limits["file_bytes"])
    _limit(resource.RLIMIT_CORE, 0, 0)
    _limit(resource.RLIMIT_NOFILE, OPEN_FILES, OPEN_FILES)
    _limit(resource.RLIMIT_STACK, STACK_BYTES, STACK_BYTES)
    if isolation.counted:
        _limit(resource.RLIMIT_NPROC, limits["processes"], limits["processes"])
    if sys.platform == "linux":
        memory = _address_space() + limits["memory_bytes"]
        _limit(resource.RLIMIT_AS, memory, memory + SPARE_BYTES)


def _limit(kind: int, soft: int, hard: int) -> None:
    """Set a limit, no higher than the one that already holds."""
    _, allowed = resource.getrlimit(kind)
    if allowed != resource.RLIM_INFINITY:
        soft, hard = min(soft, allowed), min(hard, allowed)
    resource.setrlimit(kind, (soft, hard))


def _address_space() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()
