"""MBPP's rows as tasks: splits, prompts, setup and entry points, and malformed rows are refused."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from murphy_jax import sandbox
from murphy_jax.errors import UserError
from murphy_jax.sandbox import Limits, Outcome
from murphy_jax.tasks import mbpp, rows
from murphy_jax.tasks.task import Task

LIMITS = Limits(wall_seconds=60.0)

ROW: dict[str, Any] = {
    "task_id": 1,
    "text": "Write a function to double a number.",
    "code": "import math\r\ndef double(x):\r\n  return 2 * x",
    "test_setup_code": "",
    "test_list": ["assert double(1) == 2", "assert double(2) == 4 "],
    "challenge_test_list": [],
}


@pytest.fixture(scope="module")
def tasks() -> tuple[Task, ...]:
    return mbpp.load(None, split="all")


def write(folder: Path, *values: Any) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return path


def load_one(folder: Path, **changes: Any) -> Task:
    (task,) = mbpp.load(write(folder, {**ROW, **changes}), split="all")
    return task


def test_the_file_that_ships_is_the_one_that_sources_name() -> None:
    sources = (rows.asset("mbpp", "mbpp.jsonl.gz").parents[1] / "SOURCES.md").read_text(encoding="utf-8")
    assert hashlib.sha256(rows.asset("mbpp", "mbpp.jsonl.gz").read_bytes()).hexdigest() in sources


@pytest.mark.parametrize(
    ("split", "first", "last"), [("prompt", 1, 10), ("test", 11, 510), ("validation", 511, 600), ("train", 601, 974)]
)
def test_a_split_is_a_range_of_task_numbers(split: str, first: int, last: int) -> None:
    ids = [task.task_id for task in mbpp.load(None, split=split)]
    assert ids == [f"MBPP/{number}" for number in range(first, last + 1)]


def test_there_are_974_tasks_with_three_tests_each(tasks: tuple[Task, ...]) -> None:
    assert [task.task_id for task in tasks] == [f"MBPP/{number}" for number in range(1, 975)]
    assert {len(task.tests) for task in tasks} == {3}


def test_every_reference_passes_all_its_tests(tasks: tuple[Task, ...]) -> None:
    verdicts = sandbox.run([task.program(task.reference or "") for task in tasks], LIMITS)
    assert [task.task_id for task, verdict in zip(tasks, verdicts, strict=True) if verdict.fraction < 1] == []


def test_an_empty_program_passes_no_test(tasks: tuple[Task, ...]) -> None:
    verdicts = sandbox.run([task.program("") for task in tasks], LIMITS)
    assert sum(verdict.num_passed for verdict in verdicts) == 0
    assert all(test.outcome is not Outcome.INFRA for verdict in verdicts for test in verdict.tests)


def test_no_carriage_return_is_left(tasks: tuple[Task, ...]) -> None:
    assert not any(
        "\r" in text for task in tasks for text in (task.prompt, task.reference or "", task.setup, *task.tests)
    )


def test_every_prompt_names_its_entry_point(tasks: tuple[Task, ...]) -> None:
    assert [task.task_id for task in tasks if f"{task.entry_point}(" not in task.prompt] == []


def test_the_prompt_is_the_description_and_the_assertions(tmp_path: Path) -> None:
    task = load_one(tmp_path)
    assert task.prompt == (
        "Write a function to double a number.\nYour code should pass these tests:\n"
        "assert double(1) == 2\nassert double(2) == 4"
    )


def test_the_setup_runs_after_the_program_which_it_uses(tmp_path: Path) -> None:
    task = load_one(tmp_path, test_setup_code="start = double(5)", test_list=["assert double(start) == 20"])
    (verdict,) = sandbox.run([task.program(task.reference or "")], LIMITS)
    assert verdict.fraction == 1


def test_a_sanitized_row_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "sanitized.json"
    row = {
        "task_id": 11,
        "prompt": "Double it.",
        "code": "def double(x): return 2 * x",
        "test_imports": ["import math"],
        "test_list": ["assert math.isclose(double(1), 2)"],
    }
    path.write_text(json.dumps([row]), encoding="utf-8")
    (task,) = mbpp.load(path, split="test")
    assert (task.setup, task.entry_point) == ("import math", "double")
    assert task.prompt.startswith("Double it.\n")
    assert mbpp.load(path, split="train") == ()


@pytest.mark.parametrize(
    "test",
    [
        "assert double(1) == 2",
        "assert set(double(1)) == {2}",
        "assert math.isclose(double(1), 2, rel_tol=0.001)",
        "assert not double(1)",
        "assert (double(1))",
        "assert sorted(map(str, double(1))) == ['2']",
        "assert 2 == double(1)",
        "assert double(helper(1)) == 2",
    ],
)
def test_the_entry_point_is_the_outermost_call_of_what_the_reference_defines(tmp_path: Path, test: str) -> None:
    code = "import math\ndef helper(x):\n  return x\ndef double(x):\n  return 2 * helper(x)"
    assert load_one(tmp_path, code=code, test_list=[test]).entry_point == "double"


def test_a_reference_may_be_a_name_that_is_assigned_or_a_class(tmp_path: Path) -> None:
    assert load_one(tmp_path, code="double = lambda x: 2 * x").entry_point == "double"
    code = "class Doubler:\n  def of(self, x):\n    return 2 * x"
    assert load_one(tmp_path, code=code, test_list=["assert Doubler().of(1) == 2"]).entry_point == "Doubler"


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("task_id", "1", "must be an integer, not text"),
        ("task_id", True, "must be an integer, not a boolean"),
        ("task_id", 1.5, "must be an integer, not the number 1.5"),
        ("text", None, "must be text, not null"),
        ("code", ["def"], "must be text, not a list"),
        ("code", "def double(x:\n", "does not parse"),
        ("code", "def double(x):\n  return '\udc00'", "surrogate"),
        ("test_setup_code", 0, "must be text, not the number 0"),
        ("test_setup_code", "import", "does not parse"),
        ("test_list", "assert double(1) == 2", "must be a list of texts, not text"),
        ("test_list", ["assert double(1) == 2", 3], "must be a list of texts, but holds the number 3"),
        ("test_list", [], "is empty"),
        ("test_list", ["assert double(1) == 2", "assert double(1) =="], "does not parse"),
        ("test_list", ["double(1) == 2"], "which asserts nothing"),
        ("test_list", ["assert triple(1) == 3"], "calls nothing that 'code' defines"),
        ("test_list", ["assert True"], "calls nothing that 'code' defines"),
    ],
)
def test_a_malformed_field_is_refused_with_file_line_and_field(
    tmp_path: Path, field: str, value: Any, problem: str
) -> None:
    path = write(tmp_path, ROW, {**ROW, "task_id": 2, field: value})
    with pytest.raises(UserError) as caught:
        mbpp.load(path, split="all")
    assert str(caught.value).startswith(f"{path}, line 2: field {field!r} ")
    assert problem in str(caught.value)


@pytest.mark.parametrize("field", ["task_id", "text", "code", "test_list"])
def test_a_missing_field_is_named(tmp_path: Path, field: str) -> None:
    path = write(tmp_path, {name: value for name, value in ROW.items() if name != field})
    with pytest.raises(UserError, match=f"line 1: field '{field}' is missing"):
        mbpp.load(path, split="all")


def test_two_rows_with_one_number_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"line 2: field 'task_id' is 1 again, as in .*line 1"):
        mbpp.load(write(tmp_path, ROW, ROW), split="all")


def test_an_unknown_split_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UserError, match=r"no split 'heldout'. Set it to prompt, test, validation, train or all"):
        mbpp.load(None, split="heldout")
