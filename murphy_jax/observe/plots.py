"""Charts as inline SVG: lines over steps, stacked areas, rates with intervals.

A chart is text with no script, style or link of its own; classes name what the page's style sheet colours
(`s1`..`s8` for series, which also differ in dash). Missing values (None) leave gaps. Sizes are in SVG user units.
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from murphy_jax.observe.iterations import Rate

WIDTH, HEIGHT = 380, 200
LEFT, RIGHT, TOP, BOTTOM = 44, 10, 10, 34
MAX_POINTS = 400

Values = Sequence[float | None]


@dataclass(frozen=True, kw_only=True)
class Series:
    """One named line.

    Attributes:
        name: in the legend.
        values: a value, or None, for each step.
        style: number of its colour and dash, from 1; the same turn has the same in every chart.
    """

    name: str
    values: tuple[float | None, ...]
    style: int


@dataclass(frozen=True, kw_only=True)
class Axes:
    """A linear map from data to the plotting area; a range of no length is drawn in its middle."""

    low_x: float
    high_x: float
    low_y: float
    high_y: float

    def x(self, value: float) -> float:
        """Horizontal position of `value`."""
        return LEFT + (WIDTH - LEFT - RIGHT) * _fraction(value, self.low_x, self.high_x)

    def y(self, value: float) -> float:
        """Vertical position of `value`; values beyond the range are drawn on its edge."""
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * min(1.0, max(0.0, _fraction(value, self.low_y, self.high_y)))


def _fraction(value: float, low: float, high: float) -> float:
    return (value - low) / (high - low) if high > low else 0.5


def ticks(low: float, high: float, *, count: int = 4, whole: bool = False) -> list[float]:
    """Round numbers (1, 2, 5 times a power of ten) from `low` to `high`, about `count` of them.

    >>> ticks(0, 1)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    >>> ticks(3, 58, whole=True)
    [20, 40]
    """
    if high <= low:
        return [low]
    spacing = _spacing(high - low, count)
    if whole:
        spacing = max(1.0, round(spacing))
    first, last = math.ceil(low / spacing - 1e-9), math.floor(high / spacing + 1e-9)
    digits = max(0, -math.floor(math.log10(spacing)))
    found = [round(index * spacing, digits) for index in range(first, last + 1)]
    return [int(value) for value in found] if whole else found


def _spacing(length: float, count: int = 4) -> float:
    """1, 2 or 5 times a power of ten that divides `length` into about `count` parts."""
    raw = length / count
    power = 10.0 ** math.floor(math.log10(raw))
    return min((factor * power for factor in (1, 2, 5, 10)), key=lambda spacing: abs(math.log(spacing / raw)))


def nice_range(values: Iterable[float], *, zero: bool, most: float | None = None) -> tuple[float, float]:
    """A range for the values that ends on ticks; `zero` makes 0 its end, `most` is a natural upper limit."""
    known = list(values)
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    if zero:
        low, high = min(0.0, low), max(0.0, high)
    if high <= low:
        low, high = (low, low + 1) if zero else (low - 0.5, low + 0.5)
    for _ in range(3):  # a longer range may have a wider spacing
        spacing = _spacing(high - low)
        low, high = math.floor(low / spacing + 1e-9) * spacing, math.ceil(high / spacing - 1e-9) * spacing
    return low, min(high, most) if most is not None and most >= max(known, default=0.0) else high


def smooth(values: Values, window: int) -> list[float | None]:
    """Mean of the known values among the `window` (odd) steps around each; None where there is none."""
    half = window // 2
    means: list[float | None] = []
    for index in range(len(values)):
        near = [value for value in values[max(0, index - half) : index + half + 1] if value is not None]
        means.append(sum(near) / len(near) if near and values[index] is not None else None)
    return means


def smoothing_window(count: int) -> int:
    """Steps that the strong line averages: 1 (no averaging) for short runs, about a fifteenth of long ones."""
    return 1 if count < 20 else 2 * (count // 30) + 1


def line_chart(steps: Sequence[int], series: Sequence[Series], axes: Axes, *, label: str, percent: bool = False) -> str:
    """Lines over steps: every step faint, the mean of the steps around it strong."""
    window = smoothing_window(len(steps))
    parts = [_frame(axes, percent=percent)]
    for line in series:
        css = f"s{line.style}"
        if window > 1:
            parts.append(_path(axes, *_thin(steps, line.values), css=f"raw {css}"))
        parts.append(_path(axes, *_thin(steps, smooth(line.values, window)), css=f"line {css}"))
    return _svg(parts, label=label, steps=steps)


def stacked_chart(steps: Sequence[int], series: Sequence[Series], axes: Axes, *, label: str) -> str:
    """Areas over steps, the first series at the bottom; a missing value counts as 0."""
    parts = [_frame(axes, percent=False)]
    bottom = [0.0] * len(steps)
    for area in series:
        top = [low + (value or 0.0) for low, value in zip(bottom, area.values, strict=True)]
        parts.append(_element("polygon", css=f"area p{area.style}", points=_outline(axes, steps, top, bottom)))
        bottom = top
    return _svg(parts, label=label, steps=steps)


def _outline(axes: Axes, steps: Sequence[int], top: Sequence[float], bottom: Sequence[float]) -> str:
    """Corners of the area between two lines; a single step becomes a bar."""
    places, upper = _thin(steps, top)
    _, lower = _thin(steps, bottom)
    across = [axes.x(place) for place in places]
    if len(across) == 1:
        across, upper, lower = [across[0] - 20, across[0] + 20], upper * 2, lower * 2
    edge = list(zip(across, upper, strict=True)) + list(zip(across, lower, strict=True))[::-1]
    return " ".join(f"{x:.1f},{axes.y(y or 0.0):.1f}" for x, y in edge)


def interval_chart(before: dict[int, Rate], after: dict[int, Rate], *, label: str) -> str:
    """Rates of each iteration with their intervals: before as rings, after as filled squares."""
    iterations = sorted(before.keys() | after.keys())
    ends = [end for rates in (before, after) for rate in rates.values() for end in (rate.value, rate.low, rate.high)]
    low, high = nice_range([end for end in ends if end is not None], zero=True, most=1.0)
    axes = Axes(low_x=min(iterations) - 0.5, high_x=max(iterations) + 0.5, low_y=low, high_y=high)
    parts = [_grid(axes, percent=True)]
    parts += [
        _element("text", f"Iter-{k}", css="tick", x=_number(axes.x(k)), y=HEIGHT - BOTTOM + 17, text_anchor="middle")
        for k in iterations
    ]
    both = bool(before) and bool(after)
    for rates, css, shift in ((before, "before", -0.09), (after, "after", 0.09)):
        for k, rate in rates.items():
            parts.append(_interval(axes, k + (shift if both else 0.0), rate, css=css))
    return _svg(parts, label=label)


def _interval(axes: Axes, position: float, rate: Rate, *, css: str) -> str:
    x, y = axes.x(position), axes.y(rate.value)
    bar = ""
    if rate.low is not None and rate.high is not None:
        top, bottom = _number(axes.y(rate.high)), _number(axes.y(rate.low))
        ends = f"M{x - 4:.1f} {top}h8M{x - 4:.1f} {bottom}h8M{x:.1f} {top}V{bottom}"
        bar = _element("path", css=f"interval {css}", d=ends)
    if css == "before":
        return bar + _element("circle", css=f"mark {css}", cx=_number(x), cy=_number(y), r=4.5)
    return bar + _element("rect", css=f"mark {css}", x=_number(x - 4.5), y=_number(y - 4.5), width=9, height=9)


def _frame(axes: Axes, *, percent: bool) -> str:
    """Grid, step axis and its label."""
    baseline = HEIGHT - BOTTOM
    parts = [_grid(axes, percent=percent)]
    for tick in ticks(axes.low_x, axes.high_x, count=5, whole=True):
        parts.append(
            _element("text", f"{tick:g}", css="tick", x=_number(axes.x(tick)), y=baseline + 15, text_anchor="middle")
        )
    parts.append(
        _element("text", "step", css="axis", x=_number((LEFT + WIDTH - RIGHT) / 2), y=HEIGHT - 4, text_anchor="middle")
    )
    return "".join(parts)


def _grid(axes: Axes, *, percent: bool) -> str:
    parts = []
    marks = ticks(axes.low_y, axes.high_y)
    for tick in marks:
        y = axes.y(tick)
        css = "base" if tick == 0 or (tick == marks[0] and axes.low_y > 0) else "grid"
        parts.append(_element("line", css=css, x1=LEFT, x2=WIDTH - RIGHT, y1=_number(y), y2=_number(y)))
        text = f"{100 * tick:g} %" if percent else _axis_number(tick)
        parts.append(_element("text", text, css="tick", x=LEFT - 7, y=_number(y + 3.8), text_anchor="end"))
    return "".join(parts)


def _axis_number(value: float) -> str:
    """`0.05`, `200`, `1.5k`: all digits of a round number."""
    for factor, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor:
            return f"{value / factor:g}{suffix}"
    return f"{value:g}"


def _path(axes: Axes, steps: Sequence[float], values: Values, *, css: str) -> str:
    """A polyline with a gap at every missing value; a point with no neighbour becomes a dot."""
    runs: list[list[str]] = [[]]
    for step, value in zip(steps, values, strict=True):
        if value is not None:
            runs[-1].append(_point(axes, step, value))
        elif runs[-1]:
            runs.append([])
    parts = []
    for points in runs:
        if len(points) == 1:
            x, y = points[0].split(",")
            parts.append(_element("circle", css=f"dot {css}", cx=x, cy=y, r=2.5))
        elif points:
            parts.append(_element("polyline", css=css, points=" ".join(points)))
    return "".join(parts)


def _thin(steps: Sequence[int], values: Values) -> tuple[list[float], list[float | None]]:
    """At most MAX_POINTS points: means of equal parts of the run, so a page stays small however long the run."""
    count = len(steps)
    if count <= MAX_POINTS:
        return [float(step) for step in steps], list(values)
    edges = [part * count // MAX_POINTS for part in range(MAX_POINTS + 1)]
    places, means = [], []
    for start, stop in itertools.pairwise(edges):
        near = [value for value in values[start:stop] if value is not None]
        places.append(sum(steps[start:stop]) / (stop - start))
        means.append(sum(near) / len(near) if near else None)
    return places, means


def _point(axes: Axes, x: float, y: float) -> str:
    return f"{axes.x(x):.1f},{axes.y(y):.1f}"


def _number(value: float) -> str:
    return f"{value:.1f}"


def _svg(parts: Sequence[str], *, label: str, steps: Sequence[int] = ()) -> str:
    rule = _element("line", css="rule", x1=LEFT, x2=LEFT, y1=TOP, y2=HEIGHT - BOTTOM, visibility="hidden")
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}" '
        f'data-left="{LEFT}" data-right="{WIDTH - RIGHT}">{"".join(parts)}{rule if steps else ""}</svg>'
    )


def _element(tag: str, text: str = "", *, css: str, **attributes: str | float) -> str:
    written = "".join(f' {name.replace("_", "-")}="{escape(str(value))}"' for name, value in attributes.items())
    return f'<{tag} class="{css}"{written}>{escape(text)}</{tag}>'
