"""One job as the zygote holds it: the trusted sources compiled, the program's own still text.

Compiling tests before the fork is ten times cheaper than after it, where every page that the compiler touches is
copied. The program is compiled in its own process only.
"""

from dataclasses import dataclass
from types import CodeType
from typing import Any

from . import cases


@dataclass(frozen=True)
class Job:
    """A program, what comes before and after it, and its limits.

    Attributes:
        source: the untrusted source.
        entry_point: the function under test.
        prelude: run before it.
        setup: run after it.
        statements: the tests as source.
        tests: the tests compiled.
        limits: the fields of `Limits`.
    """

    source: str
    entry_point: str
    prelude: CodeType
    setup: CodeType
    statements: tuple[str, ...]
    tests: tuple[cases.Test, ...]
    limits: dict[str, Any]


def parse(message: dict[str, Any], last: Job | None) -> Job:
    """A job from its message; the tests of the last one are kept where they are the same, as those of siblings are.

    Raises:
        Exception: whatever the compiler raises for a prelude, setup or test that is no valid source.
    """
    entry_point, statements = message["entry_point"], tuple(message["tests"])
    if last is not None and (last.entry_point, last.statements) == (entry_point, statements):
        tests = last.tests
    else:
        tests = tuple(cases.prepare(statement, entry_point) for statement in statements)
    return Job(
        source=message["source"],
        entry_point=entry_point,
        prelude=compile(message["prelude"], "<prelude>", "exec", dont_inherit=True),
        setup=compile(message["setup"], "<setup>", "exec", dont_inherit=True),
        statements=statements,
        tests=tests,
        limits=message["limits"],
    )
