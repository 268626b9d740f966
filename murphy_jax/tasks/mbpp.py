"""MBPP: 974 short problems with three assertions each, which the prompt shows, as the benchmark's own protocol does.

Reads the full set (`text`, `test_setup_code`) and the sanitized one (`prompt`, `test_imports`). The setup runs after
the program, on which it builds (`root = Node(1)`). The challenge tests of eleven tasks are not used.
"""

import ast
from pathlib import Path

from murphy_jax.errors import UserError
from murphy_jax.tasks import rows
from murphy_jax.tasks.rows import Row
from murphy_jax.tasks.task import Task

TESTS = "Your code should pass these tests:"
SLOW = 123  # its reference sums divisors of every number below 9,999: 2 to 3 s
SLOW_CPU_SECONDS = 20.0


def load(path: Path | None, *, split: str) -> tuple[Task, ...]:
    """The tasks of a split, in the order of the file; none where the file has none of them.

    Args:
        path: JSON Lines or a JSON array, plain or gzipped; None for the full set, which ships.
        split: `prompt`, `test`, `validation`, `train` or `all`, told apart by task number.

    Raises:
        UserError: the file cannot be read, a row is malformed, or there is no such split.
    """
    numbers = _numbers(split)
    read = rows.read(path or rows.asset("mbpp", "mbpp.jsonl.gz"))
    tasks = tuple(_task(row) for row in read)
    rows.check_unique(read, "task_id")
    return tuple(
        task for row, task in zip(read, tasks, strict=True) if numbers is None or row.integer("task_id") in numbers
    )


def _numbers(split: str) -> range | None:
    """The task numbers of a split, None for all."""
    match split:
        case "prompt":
            return range(1, 11)
        case "test":
            return range(11, 511)
        case "validation":
            return range(511, 601)
        case "train":
            return range(601, 975)
        case "all":
            return None
    raise UserError(f"MBPP has no split {split!r}. Set it to prompt, test, validation, train or all.")


def _task(row: Row) -> Task:
    description = row.text("text" if "text" in row.fields or "prompt" not in row.fields else "prompt")
    tests = tuple(test.strip() for test in row.texts("test_list"))
    reference = row.text("code")
    imports = row.texts("test_imports") if "test_imports" in row.fields else ()
    setup = row.text("test_setup_code") if "test_setup_code" in row.fields else ""
    source = "\n".join([*imports, setup]).strip()
    row.parse("test_setup_code" if setup else "test_imports", source)
    number = row.integer("task_id")
    return Task(
        task_id=f"MBPP/{number}",
        prompt="\n".join([description.strip(), TESTS, *tests]),
        entry_point=_entry_point(row, tests, reference),
        tests=tests,
        reference=reference,
        setup=source,
        cpu_seconds=SLOW_CPU_SECONDS if number == SLOW else None,
    )


def _entry_point(row: Row, tests: tuple[str, ...], reference: str) -> str:
    """The outermost function that the first test calls and that the reference defines."""
    defined = set().union(*map(_defined, row.parse("code", reference).body))
    trees = [row.parse("test_list", test) for test in tests]
    if not trees:
        raise row.error("test_list", "is empty")
    for test, tree in zip(tests, trees, strict=True):
        if not any(isinstance(node, ast.Assert) for node in ast.walk(tree)):
            raise row.error("test_list", f"holds {test[:60]!r}, which asserts nothing")
    for node in ast.walk(trees[0]):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in defined:
            return node.func.id
    raise row.error("test_list", f"calls nothing that 'code' defines in its first test, {tests[0][:60]!r}")


def _defined(statement: ast.stmt) -> set[str]:
    """The names that a statement of a module defines."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Assign(targets=targets):
            return {target.id for target in targets if isinstance(target, ast.Name)}
    return set()
