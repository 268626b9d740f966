"""The repair family: what a prompt leaves open, its tests decide."""

import ast
import itertools
import random
import subprocess
import sys
from typing import Any

import pytest

from murphy_jax.errors import UserError
from murphy_jax.sandbox import Limits, Outcome, run
from murphy_jax.tasks import repair
from murphy_jax.tasks.repair import inputs
from murphy_jax.tasks.repair.generator import RepairTask, is_heldout
from murphy_jax.tasks.repair.operations import CLOSED, OPEN, OPERATIONS, Kind
from murphy_jax.tasks.repair.pipeline import compositions

COUNT = 400


@pytest.fixture(scope="module")
def train() -> tuple[RepairTask, ...]:
    return repair.generate(count=COUNT, seed=0, split="train")


@pytest.fixture(scope="module")
def heldout() -> tuple[RepairTask, ...]:
    return repair.generate(count=COUNT, seed=0, split="heldout")


def execute(source: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    return namespace


def passes(source: str, tests: tuple[str, ...]) -> list[bool]:
    """What Python itself says, without the sandbox."""
    namespace = execute(source)
    result = []
    for test in tests:
        try:
            exec(test, namespace)
            result.append(True)
        except (AssertionError, TypeError, ValueError, IndexError):
            result.append(False)
    return result


def test_a_reference_is_a_function_of_one_line_an_operation_and_passes_its_tests(train: tuple[RepairTask, ...]) -> None:
    for example in train:
        source = example.task.reference or ""
        assert source.startswith("def solve(x):\n")
        assert source.endswith("\n    return x")
        assert source.count("\n    x = ") == len(example.pipeline.steps) == source.count("\n") - 1
        assert all(passes(source, example.task.tests))


def test_references_pass_and_other_readings_fail_in_the_sandbox(heldout: tuple[RepairTask, ...]) -> None:
    some = heldout[:60]
    right = run([example.task.program(example.task.reference or "") for example in some], Limits())
    wrong = run([example.task.program(repair.alternatives(example)[0]) for example in some], Limits())
    assert all(verdict.outcome is Outcome.PASSED for verdict in right)
    assert all(verdict.outcome is Outcome.WRONG for verdict in wrong)


def test_every_other_reading_fails_the_first_test_with_a_wrong_value(train: tuple[RepairTask, ...]) -> None:
    for example in train:
        others = repair.alternatives(example)
        assert others
        assert len(set(others)) == len(others)
        for source in others:
            assert not passes(source, example.task.tests)[0]
            execute(source)["solve"](first_argument(example))  # returns, so the feedback shows a value


def first_argument(example: RepairTask) -> Any:
    call = next(node for node in ast.walk(ast.parse(example.task.tests[0])) if isinstance(node, ast.Call))
    return ast.literal_eval(call.args[0])


def test_the_first_expected_value_names_one_reading_only(train: tuple[RepairTask, ...]) -> None:
    for example in train:
        argument = first_argument(example)
        right = example.pipeline(argument)
        values = [reading(argument) for reading in example.pipeline.readings()]
        assert values.count(right) == 1


def test_alternatives_differ_from_the_reference_in_open_operations_only(train: tuple[RepairTask, ...]) -> None:
    for example in train:
        lines = (example.task.reference or "").split("\n")
        for source in repair.alternatives(example):
            other = source.split("\n")
            changed = [index for index, pair in enumerate(zip(lines, other, strict=True)) if pair[0] != pair[1]]
            assert changed
            assert all(example.pipeline.steps[index - 1].operation.is_open for index in changed)


def test_trivial_programs_do_not_pass(train: tuple[RepairTask, ...]) -> None:
    for example in train:
        expected = [test.partition(" == ")[2] for test in example.task.tests]
        for body in ["x", "None", *expected]:
            assert not all(passes(f"def solve(x):\n    return {body}", example.task.tests))


def test_leaving_out_an_operation_is_noticed(train: tuple[RepairTask, ...]) -> None:
    for example in train:
        for shorter in example.pipeline.without_one():
            assert not all(passes(shorter.source, example.task.tests))


def test_prompts_are_short_and_do_not_tell_readings_apart(train: tuple[RepairTask, ...]) -> None:
    for example in train:
        assert example.task.prompt.startswith("Write solve(x) for a ")
        assert len(example.task.prompt.split()) <= 40
        assert {reading.prompt for reading in example.pipeline.readings()} == {example.task.prompt}


def test_a_prompt_comes_with_different_readings() -> None:
    by_prompt: dict[str, set[str]] = {}
    for example in repair.generate(count=1500, seed=0, split="train"):
        by_prompt.setdefault(example.task.prompt, set()).add(example.task.reference or "")
    assert sum(len(references) > 1 for references in by_prompt.values()) > 150


def test_splits_share_no_composition(train: tuple[RepairTask, ...], heldout: tuple[RepairTask, ...]) -> None:
    def names(examples: tuple[RepairTask, ...]) -> set[tuple[str, ...]]:
        return {example.pipeline.composition for example in examples}

    assert not names(train) & names(heldout)
    assert not {e.task.prompt for e in train} & {e.task.prompt for e in heldout}


def test_about_a_fifth_of_the_compositions_is_held_out() -> None:
    everything = compositions()
    share = sum(map(is_heldout, everything)) / len(everything)
    assert 0.17 < share < 0.23


def test_what_is_held_out_never_changes() -> None:
    first = [" ".join(operation.name for operation in sequence) for sequence in compositions() if is_heldout(sequence)]
    assert first[:3] == ["keep_even sort_numbers", "keep_even rotate", "keep_even label_numbers"]


def test_every_operation_occurs_in_both_splits() -> None:
    names = {operation.name for operation in OPERATIONS}
    for split in ("train", "heldout"):
        examples = repair.generate(count=2000, seed=1, split=split)
        assert {name for example in examples for name in example.pipeline.composition} == names


def test_every_reading_and_constant_occurs_in_the_train_split() -> None:
    examples = repair.generate(count=1500, seed=2, split="train")
    seen = {(s.operation.name, s.constant, s.reading) for e in examples for s in e.pipeline.steps}
    wanted = {
        (operation.name, constant, reading)
        for operation in OPERATIONS
        for constant in operation.constants
        for reading in range(len(operation.alternatives))
    }
    assert seen == wanted


def test_the_first_reading_is_meant_twice_as_often_as_any_other() -> None:
    steps = [s for e in repair.generate(count=2000, seed=2, split="train") for s in e.pipeline.steps]
    for name, others in (("rotate", 1), ("join_numbers", 4)):
        readings = [step.reading for step in steps if step.operation.name == name]
        usual = readings.count(0)
        assert 1.5 < usual / ((len(readings) - usual) / others) < 2.7


def test_compositions_have_one_or_two_open_operations_and_kinds_that_fit() -> None:
    for sequence in compositions():
        assert len(sequence) in (2, 3)
        assert 1 <= sum(operation.is_open for operation in sequence) <= 2
        assert len(set(sequence)) == len(sequence)
        assert all(left.gives is right.takes for left, right in itertools.pairwise(sequence))


def test_two_operations_are_three_times_as_frequent_as_three(train: tuple[RepairTask, ...]) -> None:
    share = sum(len(example.pipeline.steps) == 2 for example in train) / COUNT
    assert 0.68 < share < 0.82


def test_operations_are_unique_and_open_ones_have_two_to_five_readings() -> None:
    assert len({operation.name for operation in OPERATIONS}) == len(OPERATIONS)
    assert all(len(operation.alternatives) == 1 for operation in CLOSED)
    for operation in OPEN:
        assert 2 <= len(set(operation.alternatives)) == len(operation.alternatives) <= 5


def test_the_same_seed_gives_the_same_tasks_and_another_seed_others(train: tuple[RepairTask, ...]) -> None:
    assert repair.generate(count=COUNT, seed=0, split="train") == train
    other = repair.generate(count=COUNT, seed=1, split="train")
    assert {e.task.tests for e in other} != {e.task.tests for e in train}


def test_a_larger_count_only_appends(train: tuple[RepairTask, ...]) -> None:
    assert repair.generate(count=50, seed=0, split="train") == train[:50]


def test_no_two_tasks_have_the_same_tests_for_a_program_or_the_same_number(train: tuple[RepairTask, ...]) -> None:
    assert len({(example.task.reference, example.task.tests) for example in train}) == COUNT
    assert len({example.task.task_id for example in train}) == COUNT


def test_another_process_draws_the_same_tasks(train: tuple[RepairTask, ...]) -> None:
    code = (
        "from murphy_jax.tasks import repair\n"
        "for e in repair.generate(count=20, seed=0, split='train'): print(e.task.task_id, e.task.tests)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines() == [f"{e.task.task_id} {e.task.tests}" for e in train[:20]]


def test_the_family_is_made_without_jax_or_numpy() -> None:
    code = (
        "import sys\n"
        "from murphy_jax.tasks import humaneval, mbpp, repair, task, tokenizer\n"
        "print([name for name in ('jax', 'numpy', 'grain', 'transformers', 'tokenizers') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize("split", ["test", "all", ""])
def test_an_unknown_split_is_refused(split: str) -> None:
    with pytest.raises(UserError, match="Set it to train or heldout"):
        repair.generate(count=1, seed=0, split=split)


@pytest.mark.parametrize("kind", [Kind.NUMBERS, Kind.WORDS, Kind.TEXT])
def test_arguments_are_small_and_of_their_kind(kind: Kind) -> None:
    generator = random.Random(0)
    for _ in range(300):
        x = inputs.draw(kind, generator)
        assert isinstance(x, str if kind is Kind.TEXT else list)
        assert len(x) <= (25 if kind is Kind.TEXT else 5)
        if kind is Kind.NUMBERS:
            assert all(type(value) is int and 0 <= value <= 9 for value in x)
