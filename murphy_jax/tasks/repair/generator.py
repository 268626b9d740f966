"""Draw repair tasks: compositions of operations, split into train and held-out, with tests that tell readings apart.

    first test    fails every other reading of the prompt, so its failing case shows which one is meant
    all tests     fail the constants, the identity, and every program that leaves out an operation

Whether a composition (the sequence of operation names) is held out follows from its hash, so the splits share no
composition, whatever the seeds.
"""

import hashlib
import random
from dataclasses import dataclass
from typing import Any

from murphy_jax.errors import UserError
from murphy_jax.tasks.repair import inputs
from murphy_jax.tasks.repair.operations import Operation
from murphy_jax.tasks.repair.pipeline import Pipeline, Step, compositions
from murphy_jax.tasks.task import Task

HELDOUT_PERCENT = 20
LENGTHS = {2: 0.75, 3: 0.25}  # operations in a program: share of the tasks
USUAL = 2.0  # how many times as often the first reading of an operation is meant as any other
NUM_TESTS = 4
CANDIDATES = 24
MAX_CHARACTERS = 36


@dataclass(frozen=True, kw_only=True)
class RepairTask:
    """A task and the pipeline it was made from."""

    task: Task
    pipeline: Pipeline


def generate(*, count: int, seed: int, split: str) -> tuple[RepairTask, ...]:
    """Draw `count` tasks, no two with the same program and tests; a larger count only appends.

    Args:
        count: how many.
        seed: decides all of them.
        split: `train` or `heldout`.

    Raises:
        UserError: there is no such split.
    """
    if split not in ("train", "heldout"):
        raise UserError(f"The repair tasks have no split {split!r}. Set it to train or heldout.")
    generator = random.Random(f"{split} {seed}")
    members = [sequence for sequence in compositions() if is_heldout(sequence) == (split == "heldout")]
    by_length = [[sequence for sequence in members if len(sequence) == length] for length in LENGTHS]
    found: dict[tuple[str, str], RepairTask] = {}
    while len(found) < count:
        (sequences,) = generator.choices(by_length, list(LENGTHS.values()))
        pipeline = _draw_pipeline(generator.choice(sequences), generator)
        tests = _draw_tests(pipeline, generator)
        key = (pipeline.source, str(tests))
        if tests is None or key in found:
            continue
        task_id = f"repair/{split}/{seed}/{len(found)}"
        found[key] = RepairTask(task=_make_task(pipeline, tests, task_id), pipeline=pipeline)
    return tuple(found.values())


def alternatives(example: RepairTask) -> tuple[str, ...]:
    """The programs of all other readings of the prompt: plausible, and wrong."""
    right = example.pipeline
    return tuple(reading.source for reading in right.readings() if reading != right)


def is_heldout(composition: tuple[Operation, ...]) -> bool:
    """Whether a composition belongs to the held-out split; the same on every machine."""
    names = " ".join(operation.name for operation in composition)
    return int.from_bytes(hashlib.sha256(names.encode()).digest()[:4]) % 100 < HELDOUT_PERCENT


def _draw_pipeline(composition: tuple[Operation, ...], generator: random.Random) -> Pipeline:
    steps = (
        Step(
            operation=operation,
            constant=generator.choice(operation.constants),
            reading=_draw_reading(operation, generator),
        )
        for operation in composition
    )
    return Pipeline(steps=tuple(steps))


def _draw_reading(operation: Operation, generator: random.Random) -> int:
    others = len(operation.alternatives) - 1
    (reading,) = generator.choices(range(1 + others), [USUAL] + [1.0] * others)
    return reading


def _draw_tests(pipeline: Pipeline, generator: random.Random) -> list[tuple[Any, Any]] | None:
    """(argument, value) of each test, or None where none of the arguments drawn serves."""
    others = [reading for reading in pipeline.readings() if reading != pipeline]
    cases: list[tuple[Any, Any]] = []
    first = None
    for _ in range(CANDIDATES):
        x = inputs.draw(pipeline.takes, generator)
        try:
            value, wrong = pipeline(x), [other(x) for other in others]
        except ValueError:  # the maximum of nothing
            continue
        if len(f"{x!r}{value!r}") > MAX_CHARACTERS or any(x == seen for seen, _ in cases):
            continue
        if first is None and value not in wrong:
            first = len(cases)
        cases.append((x, value))
        if first is not None and len(cases) >= NUM_TESTS:
            tests = [cases.pop(first), *cases][:NUM_TESTS]
            return tests if _tells(tests, pipeline) else None
    return None


def _tells(tests: list[tuple[Any, Any]], pipeline: Pipeline) -> bool:
    """Whether the tests fail the constants, the identity, and every program that leaves out an operation."""
    if all(value == tests[0][1] for _, value in tests) or all(value == x for x, value in tests):
        return False
    return all(any(_differs(shorter, x, value) for x, value in tests) for shorter in pipeline.without_one())


def _differs(pipeline: Pipeline, x: Any, value: Any) -> bool:
    try:
        return bool(pipeline(x) != value)
    except ValueError:
        return True


def _make_task(pipeline: Pipeline, tests: list[tuple[Any, Any]], task_id: str) -> Task:
    return Task(
        task_id=task_id,
        prompt=pipeline.prompt,
        entry_point="solve",
        tests=tuple(f"assert solve({x!r}) == {value!r}" for x, value in tests),
        reference=pipeline.source,
    )
