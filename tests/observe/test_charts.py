"""Which charts are drawn of which metrics."""

import random
from typing import Any

import pytest

from murphy_jax.observe import charts
from tests.observe.runs import fake_evaluation, fake_metrics


def run(steps: int, turns: int = 2) -> list[dict[str, Any]]:
    rng = random.Random(3)
    return [fake_metrics(rng, step=step, steps=steps, turns=turns) for step in range(1, steps + 1)]


def titles(records: list[dict[str, Any]]) -> list[str]:
    return [chart.title for _, drawn in charts.training_charts(records) for chart in drawn]


def chart(records: list[dict[str, Any]], title: str) -> charts.Chart:
    (found,) = (chart for _, drawn in charts.training_charts(records) for chart in drawn if chart.title == title)
    return found


def test_everything_recorded_has_its_chart_in_reading_order() -> None:
    assert titles(run(12)) == [
        "Reward",
        "Pass rate",
        "Rescue rate",
        "Sibling groups",
        "Completion length",
        "Truncated",
        "Loss",
        "Gradient norm",
        "Clip share",
        "Time of a step",
        "Token rate",
        "Execution rate",
    ]


def test_a_metric_that_was_never_recorded_has_no_chart() -> None:
    assert titles([{"step": 1, "loss": 0.5}, {"step": 2, "loss": None}]) == ["Loss"]
    assert charts.training_charts([]) == []


def test_an_unused_option_has_no_chart_but_a_rescue_rate_of_zero_has() -> None:
    records = [{"step": step, "kl": 0.0, "rescue_rate/turn_2": 0.0} for step in (1, 2)]
    assert titles(records) == ["Rescue rate"]


def test_there_is_a_line_for_every_turn_and_a_turn_looks_the_same_everywhere() -> None:
    records = run(5, turns=11)
    assert [line.name for line in chart(records, "Reward").series] == [f"turn {turn}" for turn in range(1, 12)]
    assert [line.style for line in chart(records, "Rescue rate").series] == list(range(2, 12))


def test_the_phases_of_a_step_add_up_to_the_step() -> None:
    records = run(5)
    stack = chart(records, "Time of a step")
    assert [line.name for line in stack.series] == ["rollout", "update", "other"]
    for record, parts in zip(records, zip(*(line.values for line in stack.series), strict=True), strict=True):
        assert sum(part or 0.0 for part in parts) == pytest.approx(record["seconds/step"])


def test_a_peak_far_above_the_rest_is_left_out_of_the_axis_and_mentioned() -> None:
    stack = chart(run(30), "Time of a step")
    assert "1 of 30 steps" in stack.note
    assert "(step 1)" in stack.note
    assert ">40</text>" not in stack.svg


def test_no_note_where_nothing_stands_out() -> None:
    assert all(not drawn.note for _, group in charts.training_charts(run(40)[1:]) for drawn in group)


def test_a_summary_for_screen_readers_says_first_and_last() -> None:
    records = [{"step": 1, "reward/turn_1": 0.25}, {"step": 9, "reward/turn_1": 0.5}]
    assert "steps 1 to 9: turn 1 0.250 to 0.500" in chart(records, "Reward").svg


def test_a_run_of_one_step_is_drawn() -> None:
    assert chart(run(1), "Reward").last(chart(run(1), "Reward").series[0]) != "-"


def test_a_last_value_that_is_missing_is_a_dash() -> None:
    reward = chart([{"step": 1, "reward/turn_1": 0.25}, {"step": 2, "reward/turn_1": None}], "Reward")
    assert reward.last(reward.series[0]) == "-"
    assert reward.data()["series"] == [[0.25, None]]


def test_held_out_rates_get_a_curve_from_three_evaluations_on() -> None:
    rng = random.Random(1)
    evaluations = [fake_evaluation(rng, step=step, gain=0.0) for step in (20, 0, 10)]
    assert charts.evaluation_chart(evaluations[:2]) is None
    curve = charts.evaluation_chart(evaluations)
    assert curve is not None
    assert curve.steps == (0, 10, 20)
    assert [line.name for line in curve.series] == ["Iter-1", "Iter-2", "Iter-3"]
