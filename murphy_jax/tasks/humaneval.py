"""HumanEval: 164 functions to complete from their signature and docstring.

A row's `check(candidate)` becomes one test for each statement of its body that asserts something, together with the
helpers of its module and the statements before it that assert nothing, such as imports. So a program that passes six of
seven assertions is told from one that passes none, and one that passes all tests is one that passes `check`.

Not done: a statement that asserts cannot prepare a value for a later one; rows of HumanEval+ are read, but their tests
import NumPy, which the sandbox does not have.
"""

import ast
from collections.abc import Set
from pathlib import Path

from murphy_jax.tasks import rows
from murphy_jax.tasks.rows import Row
from murphy_jax.tasks.task import Task

INSTRUCTION = "Complete the function. Give the whole function, with what it needs."
CHECK = "check"
_METADATA = "METADATA"
_FUNCTION = "_test"


def load(path: Path | None) -> tuple[Task, ...]:
    """The tasks, in the order of the file.

    Args:
        path: JSON Lines, plain or gzipped; None for the file that ships.

    Raises:
        UserError: the file cannot be read, or a row is malformed.
    """
    read = rows.read(path or rows.asset("humaneval", "HumanEval.jsonl.gz"))
    tasks = tuple(_task(row) for row in read)
    rows.check_unique(read, "task_id")
    return tasks


def split(row: Row) -> tuple[str, ...]:
    """The tests of a row, each to be run by itself where `candidate` is the function under test.

    Raises:
        UserError: there is no check(candidate), or it asserts nothing.
    """
    module = row.parse("test", row.text("test")).body
    functions = {node.name: node for node in module if isinstance(node, ast.FunctionDef)}
    check = functions.pop(CHECK, None)
    if check is None or [argument.arg for argument in check.args.args] != ["candidate"]:
        raise row.error("test", "must define check(candidate)")
    helpers = [node for node in module if node is not check and not _is_metadata(node)]
    asserting = {name for name, function in functions.items() if _asserts(function, set())}
    tests, before = [], []
    for statement in check.body:
        if not _asserts(statement, asserting):
            before += [] if _is_without_effect(statement) else [statement]
        elif not _is_trivial(statement):
            tests.append(_source(helpers, [*before, statement]))
    if not tests:
        raise row.error("test", "asserts nothing in check(candidate)")
    return tuple(tests)


def _task(row: Row) -> Task:
    prompt, entry_point = row.text("prompt"), row.text("entry_point")
    reference = prompt + row.text("canonical_solution")
    defined = {node.name for node in row.parse("prompt", prompt).body if isinstance(node, ast.FunctionDef)}
    if entry_point not in defined:
        raise row.error(
            "entry_point", f"is {entry_point!r}, but the prompt defines {', '.join(sorted(defined)) or 'no function'}"
        )
    row.parse("canonical_solution", reference)
    return Task(
        task_id=row.text("task_id"),
        prompt=f"{INSTRUCTION}\n```python\n{prompt.strip()}\n```",
        entry_point=entry_point,
        tests=split(row),
        reference=reference,
        prelude=prompt,
    )


def _source(helpers: list[ast.stmt], body: list[ast.stmt]) -> str:
    """A test's source.

    It runs among the program's global names, so what a body assigns (HumanEval/38: `str`) is kept local to a function.
    """
    if len(body) == 1 and isinstance(body[0], ast.Assert):
        return _unparse([*helpers, *body])
    function = ast.parse(f"def {_FUNCTION}(): pass\n{_FUNCTION}()").body
    assert isinstance(function[0], ast.FunctionDef)
    function[0].body = body
    return _unparse([*helpers, *function])


def _asserts(statement: ast.stmt, asserting: Set[str]) -> bool:
    """Whether a statement asserts, itself or by calling one of the functions named in `asserting`."""
    return any(
        isinstance(node, ast.Assert)
        or (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in asserting)
        for node in ast.walk(statement)
    )


def _is_trivial(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assert) and isinstance(statement.test, ast.Constant) and bool(statement.test.value)


def _is_without_effect(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant | ast.Name)


def _is_metadata(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == _METADATA


def _unparse(statements: list[ast.stmt]) -> str:
    return "\n".join(ast.unparse(statement) for statement in statements)
