"""Two or three operations in a row: the program, its prompt, and the other readings of that prompt.

def solve(x):
    x = [v for v in x if v % 2 == 0]
    x = sorted(x, reverse=True)
    return x
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from murphy_jax.tasks.repair.operations import OPERATIONS, PLACE, Kind, Operation

MAX_OPERATIONS = 3
MAX_OPEN = 2


@dataclass(frozen=True, kw_only=True)
class Step:
    """An operation with its constant and the reading that is meant.

    Attributes:
        operation: which.
        constant: one of its constants.
        reading: index of one of its alternatives.
    """

    operation: Operation
    constant: str
    reading: int

    @property
    def phrase(self) -> str:
        """How the prompt says it, the same for all readings."""
        return self.operation.phrase.replace(PLACE, self.constant)

    @property
    def expression(self) -> str:
        """The right side of its line."""
        return self.operation.alternatives[self.reading].replace(PLACE, self.constant)

    @property
    def readings(self) -> tuple["Step", ...]:
        """This step in every reading, its own included."""
        return tuple(replace(self, reading=reading) for reading in range(len(self.operation.alternatives)))


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """Steps that follow one another."""

    steps: tuple[Step, ...]

    @property
    def composition(self) -> tuple[str, ...]:
        """The names of the operations, in order: what the train and held-out splits are told apart by."""
        return tuple(step.operation.name for step in self.steps)

    @property
    def takes(self) -> Kind:
        """The kind of the argument."""
        return self.steps[0].operation.takes

    @property
    def source(self) -> str:
        """The program, one line for each operation."""
        lines = (f"    x = {step.expression}\n" for step in self.steps)
        return f"def solve(x):\n{''.join(lines)}    return x"

    @property
    def prompt(self) -> str:
        """What is asked; it leaves the readings of open operations open."""
        phrases = ", then ".join(step.phrase for step in self.steps)
        return f"Write solve(x) for {self.takes}. {phrases[0].upper()}{phrases[1:]}."

    def readings(self) -> Iterator["Pipeline"]:
        """Every reading of the prompt, this one included."""
        for steps in itertools.product(*(step.readings for step in self.steps)):
            yield Pipeline(steps=steps)

    def without_one(self) -> Iterator["Pipeline"]:
        """The pipeline with one operation left out, for each that is the last or does not change the kind of `x`."""
        for index, step in enumerate(self.steps):
            if index == len(self.steps) - 1 or step.operation.takes is step.operation.gives:
                yield Pipeline(steps=self.steps[:index] + self.steps[index + 1 :])

    def __call__(self, x: Any) -> Any:
        """What the program returns for `x`.

        Raises:
            ValueError: the maximum or minimum of nothing.
        """
        for step in self.steps:
            x = _function(step.expression)(x)
        return x


def compositions() -> list[tuple[Operation, ...]]:
    """All sequences of two or three different operations whose kinds fit and of which one or two are open."""
    sequences: list[tuple[Operation, ...]] = [(operation,) for operation in OPERATIONS]
    result = []
    for _ in range(MAX_OPERATIONS - 1):
        sequences = [
            (*sequence, operation)
            for sequence in sequences
            for operation in OPERATIONS
            if operation.takes is sequence[-1].gives and operation not in sequence
        ]
        result += [s for s in sequences if 1 <= sum(operation.is_open for operation in s) <= MAX_OPEN]
    return result


@cache
def _function(expression: str) -> Callable[[Any], Any]:
    """The function of `x` that one of our own expressions spells."""
    function: Callable[[Any], Any] = eval(f"lambda x: {expression}")
    return function
