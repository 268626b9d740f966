"""A test means the same after its assertions were rewritten."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murphy_jax.sandbox.harness import cases

RELATIONS = st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "is", "is not"])
VALUES = st.integers(-3, 3)


def _fails(code: Any, namespace: dict[str, Any]) -> str:
    """The name of what the code raises, empty for none."""
    try:
        exec(code, namespace)
    except Exception as error:
        return type(error).__name__
    return ""


@given(VALUES, VALUES, RELATIONS)
def test_a_comparison_fails_exactly_where_it_did(left: int, right: int, relation: str) -> None:
    test = f"assert f(a) {relation} b"
    names = {"f": lambda x: x, "a": left, "b": right}

    assert _fails(cases.prepare(test, "f").code, dict(names)) == _fails(test, dict(names))


@pytest.mark.parametrize(
    "test",
    [
        "assert f(1) and f(0)",
        "assert f(0) or f(1)",
        "assert 0 < f(1) < 1",
        "assert not f(1), f(2)",
        "assert abs(f(1) - 1) < 1e-3",
        "assert abs(f(1) - 1) < 1e-3 and f(2) == 3",
        "assert f(1) == g(2)",
        "assert all(f(x) for x in (1, 0))",
        "def check(f):\n    assert f(1) == 2\ncheck(f)",
        "assert f(1) == 1 if f(0) else f(0)",
        "assert (y := f(1)) == 1 and y == 2",
    ],
)
def test_every_call_happens_once_and_in_order(test: str) -> None:
    calls: list[list[int]] = [[], []]
    raised = []
    for code, seen in zip((test, cases.prepare(test, "f").code), calls, strict=True):

        def f(x: int, seen: list[int] = seen) -> int:
            seen.append(x)
            return x

        raised.append(_fails(code, {"f": f}))

    assert raised[0] == raised[1]
    assert calls[0] == calls[1]


@pytest.mark.parametrize(
    ("test", "case"),
    [
        ("assert f(1, x=2) == 3", "f(1, x=2)"),
        ("assert candidate([1]) == 3", "f([1])"),
        ("assert f(f(1)) == 3", "f(f(1))"),
        ("assert f(1) == f(2)", "assert f(1) == f(2)"),
        ("check(candidate)", "check(candidate)"),
        ("assert f( ==", "assert f( =="),
    ],
)
def test_a_test_without_a_frame_is_described_by_its_only_call(test: str, case: str) -> None:
    assert cases.describe(test, "f") == case


def test_a_description_is_short() -> None:
    assert len(cases.describe(f"assert f({list(range(1000))}) == 1", "f")) < cases.MAX_CASE + 50
