"""Held-out rates before and after, paired by benchmark and iteration."""

from typing import Any

import pytest

from murphy_jax.observe import iterations


def record(step: int, *rates: float, benchmark: str = "repair") -> dict[str, Any]:
    rows = [
        {"iteration": k, "pass_rate": rate, "low": rate - 0.1, "high": rate + 0.1}
        for k, rate in enumerate(rates, start=1)
    ]
    return {"step": step, "benchmark": benchmark, "num_tasks": 64, "samples_per_task": 1, "iterations": rows}


def test_the_change_is_after_minus_before() -> None:
    rows = iterations.compare(record(0, 0.25, 0.5), record(60, 0.5, 0.625))
    assert [row.iteration for row in rows] == [1, 2]
    assert [row.change for row in rows] == pytest.approx([0.25, 0.125])


def test_an_iteration_that_one_evaluation_lacks_has_no_change() -> None:
    rows = iterations.compare(record(0, 0.25), record(60, 0.5, 0.75))
    assert rows[1].before is None
    assert rows[1].change is None
    assert rows[1].after is not None


def test_without_a_later_evaluation_there_is_only_before() -> None:
    rows = iterations.compare(record(0, 0.25, 0.5), None)
    assert all(row.after is None and row.change is None for row in rows)


def test_a_null_rate_is_left_out_and_a_null_interval_stays_unknown() -> None:
    entry = {"iterations": [{"iteration": 1, "pass_rate": None}, {"iteration": 2, "pass_rate": 0.5, "low": None}]}
    assert iterations.rates(entry) == {2: iterations.Rate(value=0.5, low=None, high=None)}


def test_first_and_last_are_by_step_not_by_place_in_the_file() -> None:
    pairs = iterations.first_and_last([record(20, 0.3), record(60, 0.5), record(0, 0.2)])
    before, after = pairs["repair"]
    assert before["step"] == 0
    assert after is not None
    assert after["step"] == 60


def test_benchmarks_are_not_mixed() -> None:
    pairs = iterations.first_and_last([record(0, 0.2), record(0, 0.7, benchmark="humaneval"), record(60, 0.5)])
    assert list(pairs) == ["repair", "humaneval"]
    assert pairs["humaneval"][1] is None


def test_two_evaluations_of_one_step_are_not_a_before_and_an_after() -> None:
    assert iterations.first_and_last([record(0, 0.2), record(0, 0.3)])["repair"][1] is None
