"""What a forked child does to itself before the program runs: streams, directory, resource limits, user."""

import math
import os
import resource
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .isolation import Isolation, drop

SPARE_BYTES = 16 * 2**20
STACK_BYTES = 64 * 2**20
OPEN_FILES = 64
MAX_DESCRIPTOR = 1024


@dataclass(frozen=True)
class Confinement:
    """What is left to a child.

    Attributes:
        limits: the fields of `Limits`.
        folder: becomes the working directory.
        isolation: whose user to take.
        base_bytes: the zygote's own address space, on top of which memory is counted.
        results: a descriptor to keep.
        output: the descriptor that becomes standard output and error.
    """

    limits: dict[str, Any]
    folder: str
    isolation: Isolation
    base_bytes: int
    results: int
    output: int


def confine(confinement: Confinement) -> None:
    """Leave this process nothing but its directory, its output and the pipe for its results.

    Raises:
        OSError: the kernel refuses something; the program must not run then.
    """
    os.setpgid(0, 0)  # the session is the zygote's own already, and has no terminal
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.dup2(confinement.output, 1)
    os.dup2(confinement.output, 2)
    os.closerange(3, confinement.results)
    os.closerange(confinement.results + 1, MAX_DESCRIPTOR)
    os.chdir(confinement.folder)
    _limit_resources(confinement)
    drop(confinement.isolation)


def unreserve() -> None:
    """Free the memory that is kept back for the report of a program that used all of its own."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def address_space() -> int:
    """Bytes of address space that this process has mapped; 0 where /proc does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return 0
    return pages * resource.getpagesize()


def _limit_resources(confinement: Confinement) -> None:
    limits = confinement.limits
    cpu = math.ceil(limits["cpu_seconds"]) + 1
    _limit(resource.RLIMIT_CPU, cpu, cpu + 1)
    _limit(resource.RLIMIT_FSIZE, limits["file_bytes"], limits["file_bytes"])
    _limit(resource.RLIMIT_CORE, 0, 0)
    _limit(resource.RLIMIT_NOFILE, OPEN_FILES, OPEN_FILES)
    _limit(resource.RLIMIT_STACK, STACK_BYTES, STACK_BYTES)
    if confinement.isolation.counted:
        _limit(resource.RLIMIT_NPROC, limits["processes"], limits["processes"])
    if sys.platform == "linux":
        memory = confinement.base_bytes + limits["memory_bytes"]
        _limit(resource.RLIMIT_AS, memory, memory + SPARE_BYTES)


def _limit(kind: int, soft: int, hard: int) -> None:
    """Set a limit, no higher than the one that already holds."""
    _, allowed = resource.getrlimit(kind)
    if allowed != resource.RLIM_INFINITY:
        soft, hard = min(soft, allowed), min(hard, allowed)
    resource.setrlimit(kind, (soft, hard))
