"""What a verdict says to whoever repairs the program."""

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murphy_jax.rollout import feedback
from murphy_jax.sandbox import Limits, Outcome, Program, Verdict, run
from murphy_jax.sandbox import TestResult as Result

PASSED = Result(outcome=Outcome.PASSED)
TRACE = 'File "solution.py", line 2, in solve\n    return x / 0'


def describe(*tests: Result, max_characters: int = 1500) -> str:
    return feedback.describe(Verdict(tests=tests), max_characters=max_characters)


def wrong(case: str = "solve([3, 1, 2])", got: str = "[1, 2, 3]", expected: str = "[3, 2, 1]") -> Result:
    return Result(outcome=Outcome.WRONG, case=case, got=got, expected=expected, message="AssertionError")


def error(case: str, message: str = "ZeroDivisionError: division by zero", traceback: str = TRACE) -> Result:
    return Result(outcome=Outcome.ERROR, case=case, message=message, traceback=traceback)


def test_the_pass_rate_comes_first_and_a_wrong_value_with_the_one_expected() -> None:
    assert describe(wrong(), PASSED, PASSED) == (
        "2 of 3 tests passed.\nsolve([3, 1, 2]) returned [1, 2, 3], expected [3, 2, 1]"
    )


def test_a_program_that_passes_gets_the_pass_rate_only() -> None:
    assert describe(PASSED, PASSED) == "2 of 2 tests passed."


def test_an_error_comes_with_its_traceback() -> None:
    assert describe(error("solve(1)"), PASSED) == (
        "1 of 2 tests passed.\nsolve(1) raised ZeroDivisionError: division by zero\n" + TRACE
    )


def test_a_long_traceback_keeps_its_last_lines() -> None:
    text = describe(error("solve(1)", traceback="\n".join(f"line {number}" for number in range(40))))
    assert text.endswith("line 38\nline 39")
    assert text.count("line ") == feedback.MAX_TRACEBACK_LINES


def test_the_same_error_of_many_tests_is_told_once() -> None:
    text = describe(*(error(f"solve({number})") for number in range(5)))
    assert text.startswith("0 of 5 tests passed.\nsolve(0) and 4 more raised ZeroDivisionError")
    assert text.count("ZeroDivisionError") == 1


def test_different_errors_and_wrong_values_are_told_each() -> None:
    text = describe(wrong("solve(1)"), wrong("solve(2)"), error("solve(3)"), PASSED)
    assert all(f"solve({number})" in text for number in (1, 2, 3))


def test_at_most_three_failures_are_shown() -> None:
    text = describe(*(wrong(f"solve({number})") for number in range(10)))
    assert text.count("returned") == feedback.MAX_FAILURES == 3
    assert text.startswith("0 of 10 tests passed.")


@pytest.mark.parametrize(
    ("outcome", "message"),
    [(Outcome.TIMEOUT, "timed out after 3 s of CPU"), (Outcome.KILLED, "killed: memory limit of 512 MiB")],
)
def test_limits_are_named(outcome: Outcome, message: str) -> None:
    tests = [Result(outcome=outcome, case=f"solve({number})", message=message) for number in range(3)]
    assert describe(*tests) == f"0 of 3 tests passed.\nsolve(0) and 2 more: {message}"


def test_an_outcome_without_a_message_is_named() -> None:
    assert describe(Result(outcome=Outcome.KILLED)) == "0 of 1 tests passed.\nA test: killed"


def test_a_statement_without_values_is_said_to_have_failed() -> None:
    test = Result(outcome=Outcome.WRONG, case="assert all(solve(i) for i in range(3))", message="AssertionError")
    assert describe(test).endswith("\nassert all(solve(i) for i in range(3)) failed")


def test_the_message_of_an_assertion_is_kept() -> None:
    test = Result(outcome=Outcome.WRONG, case="solve(1)", message="AssertionError: must be sorted")
    assert describe(test).endswith("\nsolve(1) failed: must be sorted")


def test_a_fault_of_the_grader_is_not_told() -> None:
    assert describe(PASSED, Result(outcome=Outcome.INFRA, message="no memory")) == "1 of 2 tests passed."


def test_failures_that_do_not_fit_are_left_out_whole() -> None:
    failures = [wrong(f"solve({number})", got="1", expected="2") for number in range(3)]
    lines = describe(*failures).split("\n")
    text = describe(*failures, max_characters=len("\n".join(lines[:3])) + 5)
    assert text.split("\n") == lines[:3]


def test_a_single_failure_that_does_not_fit_loses_its_middle() -> None:
    text = describe(wrong(got="1" * 500, expected="2" * 500), max_characters=120)
    assert len(text) == 120
    assert text.startswith("0 of 1 tests passed.\nsolve([3, 1, 2]) returned 111")
    assert feedback.CUT in text
    assert text.endswith("222")


def test_control_and_invisible_characters_become_escapes() -> None:
    text = describe(error("solve(1)", message="ValueError: a\x1b[31m\x00b\u202ec\ud800d\re", traceback=""))
    assert text.endswith("raised ValueError: a\\x1b[31m\\x00b\\u202ec\\ud800d\ne")


def test_letters_of_all_scripts_and_emoji_stay() -> None:
    for letters in ("größe", "日本語", "क्‍ष", "👩‍🔬✅️"):
        assert feedback.escape_control(letters) == letters


def test_folders_of_the_host_are_removed_from_tracebacks_and_left_in_values() -> None:
    trace = 'File "/srv/box 7/solution.py", line 2, in solve\nFile "C:\\py\\json.py", line 9'
    text = describe(error("solve('/a/b')", traceback=trace))
    assert 'File "solution.py", line 2, in solve\nFile "json.py", line 9' in text
    assert "solve('/a/b')" in text


@given(
    st.lists(
        st.builds(
            Result,
            outcome=st.sampled_from(Outcome),
            case=st.text(max_size=60),
            got=st.text(max_size=60),
            expected=st.text(max_size=60),
            message=st.text(max_size=60),
            traceback=st.text(max_size=200),
        ),
        max_size=6,
    ),
    st.integers(1, 400),
)
def test_feedback_is_never_too_long_and_can_always_be_encoded(tests: list[Result], limit: int) -> None:
    text = describe(*tests, max_characters=limit)
    assert len(text) <= limit
    assert text.isprintable() or not set(text) & set("\x00\x1b\r\u202e\u2028")
    text.encode()


@given(st.text(), st.integers(0, 50))
def test_a_shortened_text_keeps_both_ends(text: str, limit: int) -> None:
    short = feedback.shorten(text, limit)
    assert len(short) <= limit or short == text
    if len(text) > limit > 8:
        head, tail = short.split(feedback.CUT)[0], short.split(feedback.CUT)[-1]
        assert text.startswith(head)
        assert text.endswith(tail)


def test_the_examples_of_the_docstrings_hold() -> None:
    result = doctest.testmod(feedback)
    assert (result.failed, result.attempted) == (0, 2)


def test_feedback_on_a_program_that_was_really_run() -> None:
    tests = ("assert solve([2, 1]) == [1, 2]", "assert solve([]) == []", "assert solve([1]) == [1]")
    source = "def solve(x):\n    return x if x else x[0]"
    verdict, syntax = run(
        [
            Program(source=source, tests=tests, entry_point="solve"),
            Program(source="def solve(x:", tests=tests, entry_point="solve"),
        ],
        Limits(),
    )
    assert feedback.describe(verdict, max_characters=1500) == (
        "1 of 3 tests passed.\n"
        "solve([2, 1]) returned [2, 1], expected [1, 2]\n"
        "solve([]) raised IndexError: list index out of range\n"
        'File "solution.py", line 2, in solve\n'
        "    return x if x else x[0]"
    )
    assert "solve([2, 1]) and 2 more raised SyntaxError" in feedback.describe(syntax, max_characters=1500)
