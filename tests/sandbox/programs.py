"""Short ways to grade a program, and what /proc says of the processes that do it."""

import contextlib
import os
from pathlib import Path

from murphy_jax.sandbox import Limits, Program, Sandbox, TestResult, Verdict

CPU_SECONDS = 0.4
LIMITS = Limits(
    cpu_seconds=CPU_SECONDS,
    wall_seconds=20.0,
    memory_bytes=64 * 2**20,
    file_bytes=2**20,
    processes=8,
    output_bytes=2**18,
)


def program(source: str, *tests: str, entry_point: str = "solve") -> Program:
    return Program(source=source, tests=tests or ("assert solve() == 1",), entry_point=entry_point)


def grade(sandbox: Sandbox, source: str, *tests: str) -> Verdict:
    return sandbox.run([program(source, *tests)])[0]


def only_result(sandbox: Sandbox, source: str, *tests: str) -> TestResult:
    (result,) = grade(sandbox, source, *tests).tests
    return result


def descendants(pid: int) -> set[int]:
    """All live processes below that one."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, parent, *_ = stat.read_text().rpartition(")")[2].split()
            if state != "Z":
                children.setdefault(int(parent), []).append(int(stat.parent.name))
    found, pending = set(), [pid]
    while pending:
        below = children.get(pending.pop(), [])
        found |= set(below)
        pending += below
    return found


def zygotes() -> set[int]:
    """The processes below this one that serve a sandbox."""
    found = set()
    for pid in descendants(os.getpid()):
        with contextlib.suppress(OSError):
            if b"harness.zygote" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.add(pid)
    return found
