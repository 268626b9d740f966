"""What the sandbox is given: a candidate's source, the tests it must pass, and the limits it runs under."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Program:
    """A candidate program and its tests.

    Attributes:
        source: the candidate's source, untrusted.
        tests: statements, run in order in the program's namespace; each gets a verdict of its own.
        entry_point: the function under test; the tests may call it by this name or as `candidate`.
        prelude: trusted source run before the candidate's.
        setup: trusted source run after the candidate's and before the tests.
        cpu_seconds: overrides `Limits.cpu_seconds` for this program.
    """

    source: str
    tests: tuple[str, ...]
    entry_point: str
    prelude: str = ""
    setup: str = ""
    cpu_seconds: float | None = None


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one program may use. The wall clock is a backstop; CPU time is what is measured out.

    Attributes:
        cpu_seconds: CPU time of the whole program with all its tests.
        wall_seconds: elapsed time of the whole program with all its tests.
        memory_bytes: address space above that of the bare interpreter.
        file_bytes: the largest file it may write.
        processes: processes and threads it may have at a time, itself included.
        output_bytes: what it may print before it is stopped.
    """

    cpu_seconds: float = 3.0
    wall_seconds: float = 15.0
    memory_bytes: int = 512 * 2**20
    file_bytes: int = 16 * 2**20
    processes: int = 16
    output_bytes: int = 2**20
