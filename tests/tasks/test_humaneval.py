"""HumanEval's rows as tasks: the split of `check` grades as `check` does, and malformed rows are refused."""

import ast
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from murphy_jax import sandbox
from murphy_jax.errors import UserError
from murphy_jax.sandbox import Limits, Outcome, Program
from murphy_jax.tasks import humaneval, rows
from murphy_jax.tasks.task import Task

LIMITS = Limits(wall_seconds=60.0)
SHORT_LIMITS = Limits(cpu_seconds=1.0)

ROW: dict[str, Any] = {
    "task_id": "HumanEval/0",
    "prompt": 'import math\n\n\ndef double(x):\n    """Twice x."""\n',
    "entry_point": "double",
    "canonical_solution": "    return 2 * x\n",
    "test": "def check(candidate):\n    assert candidate(2) == 4\n",
}


@pytest.fixture(scope="module")
def tasks() -> tuple[Task, ...]:
    return humaneval.load(None)


def write(folder: Path, *values: Any) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return path


def split(folder: Path, test: str) -> tuple[str, ...]:
    (task,) = humaneval.load(write(folder, {**ROW, "test": test}))
    return task.tests


def test_the_file_that_ships_is_the_one_that_was_published() -> None:
    data = rows.asset("humaneval", "HumanEval.jsonl.gz").read_bytes()
    assert hashlib.sha256(data).hexdigest() == "b796127e635a67f93fb35c04f4cb03cf06f38c8072ee7cee8833d7bee06979ef"


def test_there_are_164_tasks_in_order(tasks: tuple[Task, ...]) -> None:
    assert [task.task_id for task in tasks] == [f"HumanEval/{i}" for i in range(164)]


def test_every_reference_passes_all_its_tests(tasks: tuple[Task, ...]) -> None:
    verdicts = sandbox.run([task.program(task.reference or "") for task in tasks], LIMITS)
    assert [task.task_id for task, verdict in zip(tasks, verdicts, strict=True) if verdict.fraction < 1] == []


def test_an_empty_program_passes_no_test(tasks: tuple[Task, ...]) -> None:
    verdicts = sandbox.run([task.program("") for task in tasks], LIMITS)
    assert sum(verdict.num_passed for verdict in verdicts) == 0
    assert all(test.outcome is not Outcome.INFRA for verdict in verdicts for test in verdict.tests)


def test_a_changed_reference_passes_the_tests_exactly_where_it_passes_check(tasks: tuple[Task, ...]) -> None:
    wholes = rows.read(rows.asset("humaneval", "HumanEval.jsonl.gz"))
    changed = [(task, row, source) for task, row in zip(tasks, wholes, strict=True) if (source := change(task))]
    whole = [
        Program(
            source=source,
            tests=(f"{row.text('test')}\ncheck({task.entry_point})",),
            entry_point=task.entry_point,
            prelude=task.prelude,
        )
        for task, row, source in changed
    ]
    verdicts = sandbox.run([task.program(source) for task, _, source in changed], SHORT_LIMITS)
    expected = sandbox.run(whole, SHORT_LIMITS)
    passed = [verdict.outcome is Outcome.PASSED for verdict in verdicts]
    assert passed == [verdict.outcome is Outcome.PASSED for verdict in expected]
    assert passed.count(False) > 80
    assert any(0 < verdict.fraction < 1 for verdict in verdicts)


def change(task: Task) -> str | None:
    """The reference with its first integer raised by one; None where it has none."""
    tree = ast.parse(task.reference or "")
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and type(node.value) is int:
            node.value += 1
            return ast.unparse(tree)
    return None


def test_the_prompt_shows_the_stub_and_asks_for_the_whole_function(tmp_path: Path) -> None:
    (task,) = humaneval.load(write(tmp_path, ROW))
    assert task.prompt == f"{humaneval.INSTRUCTION}\n```python\n{ROW['prompt'].strip()}\n```"
    assert "whole function" in humaneval.INSTRUCTION
    assert task.prelude == ROW["prompt"]
    assert task.reference == ROW["prompt"] + ROW["canonical_solution"]
    assert task.entry_point == "double"


def test_every_assertion_is_a_test_and_a_constant_one_is_dropped(tmp_path: Path) -> None:
    test = (
        "def check(candidate):\n    assert True, 'simple'\n    assert candidate(1) == 2\n    assert candidate(2) == 4\n"
    )
    assert split(tmp_path, test) == ("assert candidate(1) == 2", "assert candidate(2) == 4")


def test_an_assertion_that_never_holds_is_kept(tmp_path: Path) -> None:
    assert split(tmp_path, "def check(candidate):\n    assert False, candidate(1)\n") == ("assert False, candidate(1)",)


def test_a_loop_is_one_test_and_takes_the_statements_before_it_along(tmp_path: Path) -> None:
    test = (
        "def check(candidate):\n    import math\n    limit = 3\n    assert candidate(0) == 0\n"
        "    for x in range(limit):\n        assert candidate(x) == 2 * x\n"
    )
    first, second = split(tmp_path, test)
    assert "candidate(0)" in first
    assert "import math" in second
    assert "limit = 3" in second
    assert "candidate(0)" not in second


def test_what_a_test_assigns_is_not_seen_by_the_program(tmp_path: Path) -> None:
    test = "def check(candidate):\n    str = '2'\n    assert candidate(1) == str\n    assert candidate(2) == '4'\n"
    (task,) = humaneval.load(write(tmp_path, {**ROW, "test": test}))
    (verdict,) = sandbox.run([task.program("def double(x):\n    return str(2 * x)")], LIMITS)
    assert verdict.num_passed == 2


def test_helpers_of_the_test_module_come_along_but_its_metadata_does_not(tmp_path: Path) -> None:
    helper = "def near(a, b):\n    return abs(a - b) < 1\n"
    test = f"METADATA = {{'author': 'jt'}}\n{helper}def check(candidate):\n    assert near(candidate(1), 2)\n"
    (source,) = split(tmp_path, test)
    assert source.startswith("def near(a, b):")
    assert source.endswith("assert near(candidate(1), 2)")
    assert "METADATA" not in source


def test_a_call_of_a_helper_that_asserts_is_a_test(tmp_path: Path) -> None:
    helper = "def same(a, b):\n    assert a == b\n"
    test = f"{helper}def check(candidate):\n    same(candidate(1), 2)\n    same(candidate(2), 5)\n"
    (task,) = humaneval.load(write(tmp_path, {**ROW, "test": test}))
    (verdict,) = sandbox.run([task.program(task.reference or "")], LIMITS)
    assert [result.outcome for result in verdict.tests] == [Outcome.PASSED, Outcome.WRONG]


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("task_id", None, "must be text, not null"),
        ("task_id", 7, "must be text, not the number 7"),
        ("prompt", ["def"], "must be text, not a list"),
        ("prompt", "def double(x:\n", "does not parse"),
        ("prompt", "def double(x):\n    '\ud800'\n", "surrogate"),
        ("entry_point", "triple", "is 'triple', but the prompt defines double"),
        ("entry_point", "", "is '', but the prompt defines double"),
        ("entry_point", True, "must be text, not a boolean"),
        ("canonical_solution", "    return (\n", "does not parse"),
        ("canonical_solution", {}, "must be text, not an object"),
        ("test", "def check(candidate):\n    assert candidate(\n", "does not parse"),
        ("test", "def check(candidate):\n    pass\n", "asserts nothing"),
        ("test", "def check(candidate):\n    assert True\n", "asserts nothing"),
        ("test", "assert double(1) == 2\n", "must define check(candidate)"),
        ("test", "def check(f):\n    assert f(1) == 2\n", "must define check(candidate)"),
        ("test", "\x00", "does not parse"),
    ],
)
def test_a_malformed_field_is_refused_with_file_line_and_field(
    tmp_path: Path, field: str, value: Any, problem: str
) -> None:
    path = write(tmp_path, ROW, {**ROW, "task_id": "HumanEval/1", field: value})
    with pytest.raises(UserError) as caught:
        humaneval.load(path)
    assert str(caught.value).startswith(f"{path}, line 2: field {field!r} ")
    assert problem in str(caught.value)


@pytest.mark.parametrize("field", list(ROW))
def test_a_missing_field_is_named(tmp_path: Path, field: str) -> None:
    path = write(tmp_path, {name: value for name, value in ROW.items() if name != field})
    with pytest.raises(UserError, match=f"line 1: field '{field}' is missing"):
        humaneval.load(path)


def test_two_rows_with_one_id_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"line 2: field 'task_id' is 'HumanEval/0' again, as in .*line 1"):
        humaneval.load(write(tmp_path, ROW, ROW))
