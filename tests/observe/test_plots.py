"""Charts: positions are true to the data, gaps stay gaps, and text cannot become markup."""

import itertools
import math
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murphy_jax.observe import plots
from murphy_jax.observe.iterations import Rate
from murphy_jax.observe.plots import Axes, Series

finite = st.floats(-1e9, 1e9, allow_nan=False)
UNIT = Axes(low_x=1, high_x=3, low_y=0.0, high_y=1.0)


def elements(svg: str, tag: str, css: str) -> list[ET.Element]:
    return [node for node in ET.fromstring(svg).iter(tag) if css in node.get("class", "").split()]


def points(node: ET.Element) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in node.get("points", "").split())]


def line(*values: float | None, style: int = 1) -> Series:
    return Series(name="reward", values=values, style=style)


@given(low=finite, length=st.floats(1e-6, 1e9), count=st.integers(2, 8))
def test_ticks_lie_in_the_range_are_evenly_spaced_and_few(low: float, length: float, count: int) -> None:
    high = low + length
    if high - low < 1e-9 * max(abs(low), abs(high)):
        return
    marks = plots.ticks(low, high, count=count)
    slack = 1e-6 * (high - low)
    assert all(low - slack <= mark <= high + slack for mark in marks)
    assert len(marks) <= 2 * count + 1
    gaps = [after - before for before, after in itertools.pairwise(marks)]
    assert all(gap == pytest.approx(gaps[0], rel=1e-3) for gap in gaps)


def test_ticks_of_steps_are_whole() -> None:
    assert plots.ticks(1, 3, count=5, whole=True) == [1, 2, 3]
    assert all(isinstance(mark, int) for mark in plots.ticks(1, 80, whole=True))


@given(values=st.lists(finite, min_size=1, max_size=20), zero=st.booleans())
def test_a_range_holds_every_value_and_has_a_length(values: list[float], zero: bool) -> None:
    low, high = plots.nice_range(values, zero=zero)
    slack = 1e-6 * (high - low)
    assert low < high
    assert low - slack <= min(values)
    assert max(values) <= high + slack
    assert not zero or low - slack <= 0 <= high + slack


def test_a_range_of_shares_does_not_go_beyond_its_natural_limit() -> None:
    assert plots.nice_range([0.2, 0.97], zero=True, most=1.0) == (0.0, 1.0)


def test_a_line_goes_through_its_values() -> None:
    svg = plots.line_chart([1, 2, 3], [line(0.0, 0.5, 1.0)], UNIT, label="reward")
    drawn = points(elements(svg, "polyline", "line")[0])
    bottom, top = plots.HEIGHT - plots.BOTTOM, plots.TOP
    assert drawn == [
        (plots.LEFT, bottom),
        ((plots.LEFT + plots.WIDTH - plots.RIGHT) / 2, (bottom + top) / 2),
        (plots.WIDTH - plots.RIGHT, top),
    ]


def test_a_missing_value_leaves_a_gap_and_a_lonely_value_is_a_dot() -> None:
    axes = Axes(low_x=1, high_x=6, low_y=0.0, high_y=1.0)
    svg = plots.line_chart([1, 2, 3, 4, 5, 6], [line(0.1, 0.2, None, 0.4, None, None)], axes, label="reward")
    assert [len(points(node)) for node in elements(svg, "polyline", "line")] == [2]
    assert len(elements(svg, "circle", "dot")) == 1


def test_one_step_alone_is_a_dot_in_the_middle() -> None:
    svg = plots.line_chart([5], [line(0.5)], Axes(low_x=5, high_x=5, low_y=0, high_y=1), label="reward")
    (dot,) = elements(svg, "circle", "dot")
    assert float(dot.get("cx", "")) == (plots.LEFT + plots.WIDTH - plots.RIGHT) / 2


def test_a_long_run_is_drawn_with_a_bounded_number_of_points() -> None:
    steps = list(range(1, 10_001))
    axes = Axes(low_x=1, high_x=10_000, low_y=-1, high_y=1)
    svg = plots.line_chart(steps, [line(*(math.sin(step / 900) for step in steps))], axes, label="reward")
    assert len(points(elements(svg, "polyline", "raw")[0])) == plots.MAX_POINTS
    assert len(svg) < 30_000


@given(st.lists(st.none() | st.floats(0, 1), max_size=60), st.sampled_from([1, 3, 5, 9]))
def test_smoothing_keeps_gaps_and_stays_within_the_values(values: list[float | None], window: int) -> None:
    smoothed = plots.smooth(values, window)
    known = [value for value in values if value is not None]
    assert [value is None for value in smoothed] == [value is None for value in values]
    assert all(min(known) - 1e-12 <= value <= max(known) + 1e-12 for value in smoothed if value is not None)
    if window == 1:
        assert smoothed == values


def test_short_runs_are_not_smoothed() -> None:
    assert plots.smoothing_window(19) == 1
    assert plots.smoothing_window(60) == 5
    svg = plots.line_chart([1, 2, 3], [line(0.0, 0.5, 1.0)], UNIT, label="reward")
    assert elements(svg, "polyline", "raw") == []


def test_stacked_areas_stand_on_each_other() -> None:
    axes = Axes(low_x=1, high_x=2, low_y=0, high_y=4)
    svg = plots.stacked_chart([1, 2], [line(1.0, 2.0), line(1.0, 2.0, style=2)], axes, label="seconds")
    first, second = (points(node) for node in elements(svg, "polygon", "area"))
    assert second[2:] == first[1::-1]
    assert second[1][1] == plots.TOP


def test_a_stack_of_one_step_is_a_bar_with_a_width() -> None:
    svg = plots.stacked_chart([1], [line(1.0)], Axes(low_x=1, high_x=1, low_y=0, high_y=2), label="seconds")
    corners = points(elements(svg, "polygon", "area")[0])
    assert len(corners) == 4
    assert len({x for x, _ in corners}) == 2


def test_values_beyond_the_axis_are_drawn_on_its_edge() -> None:
    svg = plots.line_chart([1, 3], [line(0.5, 40.0)], UNIT, label="seconds")
    assert points(elements(svg, "polyline", "line")[0])[1][1] == plots.TOP


def test_before_and_after_differ_in_shape_not_only_in_colour() -> None:
    rates = {1: Rate(value=0.25, low=0.15, high=0.35)}
    svg = plots.interval_chart(rates, {1: Rate(value=0.5, low=0.4, high=0.6)}, label="held out")
    assert len(elements(svg, "circle", "before")) == 1
    assert len(elements(svg, "rect", "after")) == 1
    assert len(elements(svg, "path", "interval")) == 2


def test_a_rate_without_an_interval_is_a_mark_alone() -> None:
    svg = plots.interval_chart({1: Rate(value=0.25, low=None, high=None)}, {}, label="held out")
    assert elements(svg, "path", "interval") == []
    assert len(elements(svg, "circle", "mark")) == 1


def test_a_hostile_label_is_escaped() -> None:
    svg = plots.line_chart([1, 2, 3], [line(0, 0, 0)], UNIT, label='"><script>alert(1)</script>')
    assert "<script" not in svg
    assert ET.fromstring(svg).get("aria-label") == '"><script>alert(1)</script>'


@pytest.mark.parametrize(("value", "text"), [(0.05, "0.05"), (200, "200"), (1500, "1.5k"), (2e6, "2M")])
def test_axis_numbers_have_all_their_digits(value: float, text: str) -> None:
    svg = plots.line_chart([1, 2], [line(0, value)], Axes(low_x=1, high_x=2, low_y=0, high_y=value), label="tokens")
    spaced = plots.line_chart(
        [1, 2], [line(value, value)], Axes(low_x=1, high_x=2, low_y=value, high_y=value), label="x"
    )
    assert f">{text}</text>" in svg + spaced
