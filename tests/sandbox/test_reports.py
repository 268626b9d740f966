"""What a programmer reads: case, expected, got, message and traceback of each test."""

import tempfile

import pytest

from murphy_jax.sandbox import Outcome, Program, Sandbox
from murphy_jax.sandbox import TestResult as Result  # pytest takes Test... for a test
from tests.sandbox.programs import LIMITS, grade, only_result, program


def test_a_pass_says_nothing(sandbox: Sandbox) -> None:
    assert only_result(sandbox, "def solve(): return 1") == Result(outcome=Outcome.PASSED)


def test_a_wrong_answer_names_case_expected_and_got(sandbox: Sandbox) -> None:
    result = only_result(sandbox, "def solve(x): return x[::-1]", "assert solve([3, 1, 2]) == [1, 2, 3]")

    assert result == Result(
        outcome=Outcome.WRONG, case="solve([3, 1, 2])", expected="[1, 2, 3]", got="[2, 1, 3]", message="AssertionError"
    )


@pytest.mark.parametrize(
    ("test", "case", "expected", "got"),
    [
        ("assert solve(2) == 3", "solve(2)", "3", "2"),
        ("assert 3 == solve(2)", "solve(2)", "3", "2"),
        ("assert candidate(2) == 3", "solve(2)", "3", "2"),
        ("assert solve(2) != 2", "solve(2)", "!= 2", "2"),
        ("assert solve(2) > 5", "solve(2)", "> 5", "2"),
        ("assert 5 < solve(2)", "solve(2)", "> 5", "2"),
        ("assert solve(2) in (3, 4)", "solve(2)", "in (3, 4)", "2"),
        ("assert solve(2) is None", "solve(2)", "None", "2"),
        ("assert solve(0)", "solve(0)", "True", "0"),
        ("assert not solve(2)", "solve(2)", "False", "2"),
        ("assert solve(2) == 2 and solve(1) == 4", "solve(1)", "4", "1"),
        ("assert abs(solve(2.0) - 3.0) < 1e-6", "solve(2.0)", "3.0", "2.0"),
        ("import math\nassert math.isclose(solve(2.0), 3.0)", "solve(2.0)", "3.0", "2.0"),
        ("assert sorted(solve([2, 1])) == [1]", "sorted(solve([2, 1]))", "[1]", "[1, 2]"),
        ("for x, y in [(1, 1), (2, 3)]:\n    assert solve(x) == y", "solve(2)", "3", "2"),
        ("def check(f):\n    assert f(2) == 3\ncheck(candidate)", "f(2)", "3", "2"),
        ("def check(candidate):\n    assert candidate(2) == 3\ncheck(solve)", "solve(2)", "3", "2"),
        ("got = solve(2)\nassert got == 3", "got", "3", "2"),
    ],
)
def test_every_shape_of_an_assertion_is_read(sandbox: Sandbox, test: str, case: str, expected: str, got: str) -> None:
    result = only_result(sandbox, "def solve(x): return x", test)

    assert (result.outcome, result.case, result.expected, result.got) == (Outcome.WRONG, case, expected, got)


def test_the_message_of_an_assertion_is_kept(sandbox: Sandbox) -> None:
    result = only_result(sandbox, "def solve(): return 2", "assert solve() == 1, 'should be one'")

    assert result.message == "AssertionError: should be one"


def test_an_exception_names_its_type_its_case_and_the_programs_lines(sandbox: Sandbox) -> None:
    source = "def inner(x):\n    raise ValueError('bad input')\n\ndef solve(x):\n    return inner(x)\n"

    result = only_result(sandbox, source, "assert solve(7) == 1")

    assert result == Result(
        outcome=Outcome.ERROR,
        case="solve(7)",
        message="ValueError: bad input",
        traceback='File "solution.py", line 5, in solve\n    return inner(x)\n'
        "File \"solution.py\", line 2, in inner\n    raise ValueError('bad input')",
    )


def test_an_assertion_inside_the_program_is_an_error(sandbox: Sandbox) -> None:
    result = only_result(sandbox, "def solve(): assert False, 'mine'")

    assert (result.outcome, result.message) == (Outcome.ERROR, "AssertionError: mine")


def test_a_syntax_error_names_its_line_for_every_test(sandbox: Sandbox) -> None:
    verdict = grade(sandbox, "x = 1\ndef solve(:\n    return 1\n", "assert solve() == 1", "assert solve() == 2")

    assert [test.outcome for test in verdict.tests] == [Outcome.ERROR] * 2
    assert {test.message for test in verdict.tests} == {"SyntaxError: invalid syntax (line 2)"}
    assert {test.traceback for test in verdict.tests} == {'File "solution.py", line 2\n    def solve(:'}


@pytest.mark.parametrize(
    "source", ["", "def other(): return 1", "\0", "\ud800", "(" * 5000, "x = " + "-" * 100_000 + "1"]
)
def test_a_program_without_its_function_passes_nothing(sandbox: Sandbox, source: str) -> None:
    result = only_result(sandbox, source)

    assert result.outcome in (Outcome.ERROR, Outcome.KILLED)
    assert result.case == "solve()"


def test_a_stub_in_the_prelude_is_no_answer_but_its_helpers_are_there(sandbox: Sandbox) -> None:
    prelude = "import math\ndef helper(): return math.floor(1.5)\ndef f(): return helper()\n"
    tests = ("assert f() == 1",)

    stub = Program(source="", prelude=prelude, tests=tests, entry_point="f")
    answer = Program(source="def f(): return helper()", prelude=prelude, tests=tests, entry_point="f")
    verdicts = sandbox.run([stub, answer])

    assert [verdict.outcome for verdict in verdicts] == [Outcome.ERROR, Outcome.PASSED]
    assert verdicts[0].tests[0].message == "NameError: name 'f' is not defined"


def test_the_setup_runs_after_the_program(sandbox: Sandbox) -> None:
    built = Program(
        source="class Node: pass\ndef f(node): return node.value\n",
        setup="root = Node()\nroot.value = 4",
        tests=("assert f(root) == 4",),
        entry_point="f",
    )

    assert sandbox.run([built])[0].fraction == 1.0


def test_long_values_are_shortened_in_the_middle(sandbox: Sandbox) -> None:
    result = only_result(sandbox, "def solve(): return list(range(10_000))", "assert solve() == list(range(9_999))")

    for text, last in ((result.got, "9999]"), (result.expected, "9998]")):
        assert len(text) < 600
        assert text.startswith("[0, 1, 2, 3")
        assert text.endswith(last)
        assert " characters ... " in text


def test_no_text_names_a_path_of_the_host(sandbox: Sandbox) -> None:
    source = "import os\ndef solve(n):\n    if n: return os.getcwd()\n    raise OSError(os.getcwd() + '/x')\n"

    verdict = grade(sandbox, source, "assert solve(1) == ''", "assert solve(0) == ''")

    assert (verdict.tests[0].got, verdict.tests[1].message) == ("'.'", "OSError: ./x")
    assert tempfile.gettempdir() not in str(verdict)


HOSTILE = """
class Value:
    def __{method}__(self, *rest):
        {body}
def solve():
    return Value()
"""


@pytest.mark.parametrize(
    ("body", "got"),
    [
        ("raise ValueError('no')", "<Value whose repr raises ValueError>"),
        ("raise SystemExit", "<Value whose repr raises SystemExit>"),
        ("return 3", "<Value whose repr raises TypeError>"),
        ("return '\\x1b[2J\\u202e\\r\\0'", r"\x1b[2J\u202e\r\x00"),
        ("return '\\ud800'", r"\ud800"),
        ("return 'x' * 10_000", "x" * 334 + " ... 9500 characters ... " + "x" * 166),
        ("return 'x' * 2**30", "<Value whose repr raises MemoryError>"),
    ],
)
def test_a_hostile_repr_is_still_a_wrong_answer(sandbox: Sandbox, body: str, got: str) -> None:
    result = only_result(sandbox, HOSTILE.format(method="repr", body=body))

    assert (result.outcome, result.case, result.expected, result.got) == (Outcome.WRONG, "solve()", "1", got)


def test_a_repr_that_never_ends_is_the_programs_failure(sandbox: Sandbox) -> None:
    verdict = grade(
        sandbox, HOSTILE.format(method="repr", body="\n        while True: pass"), *["assert solve() == 1"] * 2
    )

    assert verdict.tests[0].outcome in (Outcome.WRONG, Outcome.TIMEOUT)
    assert verdict.tests[1].outcome is Outcome.TIMEOUT


def test_an_equality_that_raises_is_an_error_with_its_own_message(sandbox: Sandbox) -> None:
    result = only_result(sandbox, HOSTILE.format(method="eq", body="raise KeyError('k')"))

    assert (result.outcome, result.case, result.message) == (Outcome.ERROR, "solve()", "KeyError: 'k'")


def test_an_exception_whose_text_raises_is_named_by_its_type(sandbox: Sandbox) -> None:
    source = "class Odd(Exception):\n    def __str__(self): raise SystemExit\ndef solve(): raise Odd\n"

    assert only_result(sandbox, source).message == "Odd"


def test_a_generator_is_no_list(sandbox: Sandbox) -> None:
    result = only_result(sandbox, "def solve():\n    yield 1\n", "assert solve() == [1]")

    assert result.outcome is Outcome.WRONG
    assert result.got == "<generator object solve at 0x...>"
    assert only_result(sandbox, "def solve():\n    yield 1\n", "assert list(solve()) == [1]").outcome is Outcome.PASSED


def test_a_program_that_breaks_what_reports_it_fails_and_is_not_the_graders_fault(sandbox: Sandbox) -> None:
    source = "import ast, builtins\nast.unparse = ast.walk = None\nbuiltins.repr = None\ndef solve(): return 2\n"

    result = only_result(sandbox, source)

    assert result.outcome is Outcome.WRONG


def test_each_of_ten_tests_gets_its_own_verdict(sandbox: Sandbox) -> None:
    verdict = grade(
        sandbox, "def solve(x): return x if x % 3 else 1 // 0", *[f"assert solve({x}) == {x}" for x in range(10)]
    )

    assert [test.outcome is Outcome.PASSED for test in verdict.tests] == [bool(x % 3) for x in range(10)]
    assert [test.case for test in verdict.tests if test.case] == ["solve(0)", "solve(3)", "solve(6)", "solve(9)"]
    assert (verdict.num_passed, verdict.fraction, verdict.outcome) == (6, 0.6, Outcome.ERROR)


def test_the_same_program_always_gets_the_same_verdict(sandbox: Sandbox) -> None:
    source = "import random\ndef solve(n): return [set('abcdef'), random.random(), hash('x'), solve, {}][n]\n"
    same = program(source, *[f"assert solve({n}) == 1" for n in range(5)], "assert random.random() == 1")

    with Sandbox(LIMITS, workers=1) as another:
        first, *others = (verdict.tests for verdict in [*sandbox.run([same] * 20), *another.run([same])])

    assert all(other == first for other in others)
    assert [test.outcome for test in first] == [Outcome.WRONG] * 6
