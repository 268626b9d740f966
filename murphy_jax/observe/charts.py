"""Which charts a report shows, and of which metrics: records in, drawn charts out.

A chart whose metrics were never recorded is left out. A few peaks far above the rest (the first step compiles) leave
the axis instead of flattening everything else, and the chart says so.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from markupsafe import Markup

from murphy_jax.observe import iterations, plots
from murphy_jax.observe.plots import Series
from murphy_jax.observe.quantity import known, percent, significant

Record = Mapping[str, Any]
PEAK = 3.0


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A chart before it is drawn.

    Attributes:
        title: what is shown.
        unit: of the vertical axis, and over what it is taken.
        keys: (metric, name in the legend); a metric that ends in `/turn_` stands for every turn.
        percent: values are shares, shown as per cent of at most 100.
        most: a natural upper limit of the axis.
        zero: the axis includes 0.
        stacked: areas on top of each other instead of lines.
        optional: left out while all its values are 0 (the run does not use it).
    """

    title: str
    unit: str
    keys: tuple[tuple[str, str], ...]
    percent: bool = False
    most: float | None = None
    zero: bool = True
    stacked: bool = False
    optional: bool = False


def _per_turn(title: str, unit: str, metric: str, *, optional: bool = False) -> Plan:
    return Plan(title=title, unit=unit, keys=((f"{metric}/turn_", "turn"),), percent=True, most=1.0, optional=optional)


SECTIONS: tuple[tuple[str, tuple[Plan, ...]], ...] = (
    (
        "Solving",
        (
            Plan(title="Reward", unit="mean share of tests passed", keys=(("reward/turn_", "turn"),), most=1.0),
            _per_turn("Pass rate", "attempts solved", "pass_rate"),
            _per_turn("Rescue rate", "failed parents with a solved child", "rescue_rate"),
        ),
    ),
    (
        "Rollout",
        (
            Plan(
                title="Sibling groups",
                unit="share of groups",
                keys=(("dead_group_share", "dead: equal credit"), ("kept_group_share", "kept by pruning")),
                percent=True,
                most=1.0,
            ),
            Plan(title="Completion length", unit="mean tokens", keys=(("length/turn_", "turn"),)),
            _per_turn("Truncated", "completions cut at the limit", "truncated_share", optional=True),
        ),
    ),
    (
        "Update",
        (
            Plan(title="Loss", unit="mean over trained tokens", keys=(("loss", "loss"),), zero=False),
            Plan(title="Gradient norm", unit="before clipping", keys=(("grad_norm", "norm"),)),
            Plan(
                title="Clip share",
                unit="trained tokens at the clip",
                keys=(("clip_share", "clipped"),),
                percent=True,
                most=1.0,
                optional=True,
            ),
            Plan(title="KL", unit="nats a token, to the initial policy", keys=(("kl", "KL"),), optional=True),
            Plan(title="Entropy", unit="nats a token", keys=(("entropy", "entropy"),), optional=True),
        ),
    ),
    (
        "Cost",
        (
            Plan(
                title="Time of a step",
                unit="seconds by phase",
                keys=(("seconds/rollout", "rollout"), ("seconds/update", "update"), ("seconds/other", "other")),
                stacked=True,
            ),
            Plan(title="Token rate", unit="tokens a second", keys=(("rate/tokens_per_second", "tokens/s"),)),
            Plan(
                title="Execution rate", unit="programs a second", keys=(("rate/executions_per_second", "programs/s"),)
            ),
        ),
    ),
)


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A drawn chart, and what the page needs to read values off it.

    Attributes:
        title: what is shown.
        unit: of the vertical axis.
        svg: the drawing.
        steps: of each value.
        series: in the order of the drawing.
        kind: how values are written.
        stacked: areas, not lines.
        note: what the drawing leaves out, or empty.
    """

    title: str
    unit: str
    svg: Markup
    steps: tuple[int, ...]
    series: tuple[Series, ...]
    kind: Literal["percent", "number"]
    stacked: bool = False
    note: str = ""

    def last(self, series: Series) -> str:
        """The series' value at the last step, as text."""
        return _text(series.values[-1], self.kind)

    def data(self) -> dict[str, Any]:
        """What the page's script reads: plain JSON, six significant digits."""
        rows = [[None if value is None else float(f"{value:.6g}") for value in line.values] for line in self.series]
        return {"kind": self.kind, "steps": list(self.steps), "series": rows}


def training_charts(metrics: Sequence[Record]) -> list[tuple[str, list[Chart]]]:
    """The charts of the records of metrics.jsonl, in reading order, under the titles of their sections."""
    rows = [{**record, "seconds/other": _other_seconds(record)} for record in metrics]
    steps = tuple(int(record["step"]) for record in rows)
    sections = []
    for title, plans in SECTIONS:
        found = ((plan, _series(plan, rows)) for plan in plans)
        charts = [_draw(plan, steps, series) for plan, series in found if series]
        if charts:
            sections.append((title, charts))
    return sections


def _series(plan: Plan, rows: Sequence[Record]) -> tuple[Series, ...]:
    """The recorded lines of a chart; none where it is optional and all 0."""
    lines = (
        Series(name=name, values=tuple(known(row.get(key)) for row in rows), style=style)
        for key, name, style in _expand(plan.keys, rows)
    )
    series = tuple(line for line in lines if any(value is not None for value in line.values))
    return () if plan.optional and not any(value for line in series for value in line.values) else series


def evaluation_chart(evaluations: Sequence[Record]) -> Chart | None:
    """Held-out pass@1 of each iteration over steps; None for fewer than three evaluations of one benchmark."""
    if len(evaluations) < 3:
        return None
    ordered = sorted(evaluations, key=lambda record: int(record.get("step", 0)))
    found = [iterations.rates(record) for record in ordered]
    series = tuple(
        Series(name=f"Iter-{k}", values=tuple(rates[k].value if k in rates else None for rates in found), style=k)
        for k in sorted({k for rates in found for k in rates})
    )
    plan = Plan(title="During training", unit="held-out pass@1", keys=(), percent=True, most=1.0)
    return _draw(plan, tuple(int(record.get("step", 0)) for record in ordered), series) if series else None


def _draw(plan: Plan, steps: tuple[int, ...], series: tuple[Series, ...]) -> Chart:
    kind: Literal["percent", "number"] = "percent" if plan.percent else "number"
    if plan.stacked:
        heights: list[float | None] = [
            sum(v or 0.0 for v in at) for at in zip(*(s.values for s in series), strict=True)
        ]
    else:
        heights = [value for line in series for value in line.values]
    top = _top([height for height in heights if height is not None]) if plan.zero and plan.most is None else None
    low, high = plots.nice_range(
        [min(height, top) if top is not None else height for height in heights if height is not None],
        zero=plan.zero,
        most=plan.most,
    )
    axes = plots.Axes(low_x=steps[0], high_x=steps[-1], low_y=low, high_y=high)
    ends = ", ".join(f"{s.name} {_text(s.values[0], kind)} to {_text(s.values[-1], kind)}" for s in series)
    label = f"{plan.title} ({plan.unit}), steps {steps[0]} to {steps[-1]}: {ends}"
    drawing = (
        plots.stacked_chart(steps, series, axes, label=label)
        if plan.stacked
        else plots.line_chart(steps, series, axes, label=label, percent=plan.percent)
    )
    return Chart(
        title=plan.title,
        unit=plan.unit,
        svg=Markup(drawing),
        steps=steps,
        series=series,
        kind=kind,
        stacked=plan.stacked,
        note=_note(steps, heights[: len(steps)], top) if plan.stacked or len(series) == 1 else "",
    )


def _expand(keys: Iterable[tuple[str, str]], rows: Sequence[Record]) -> list[tuple[str, str, int]]:
    """(metric, name, style); `reward/turn_` becomes the recorded `reward/turn_1`, `reward/turn_2`, ... in order."""
    found = []
    for number, (key, name) in enumerate(keys, start=1):
        if not key.endswith("/turn_"):
            found.append((key, name, number))
            continue
        pattern = re.compile(re.escape(key) + r"(\d+)")
        turns = {int(match[1]) for row in rows for metric in row if (match := pattern.fullmatch(metric))}
        found += [(f"{key}{turn}", f"{name} {turn}", turn) for turn in sorted(turns)]
    return found


def _other_seconds(record: Record) -> float | None:
    """What a step took beside its rollout and its update."""
    step = known(record.get("seconds/step"))
    if step is None:
        return None
    parts = (known(record.get(f"seconds/{phase}")) or 0.0 for phase in ("rollout", "update"))
    return max(0.0, step - sum(parts))


def _top(values: Sequence[float]) -> float | None:
    """Where the axis ends if a few peaks stand far above the rest (95 % of the values); None if none does."""
    if len(values) < 10:
        return None
    usual = sorted(values)[int(0.95 * (len(values) - 1))]
    return usual * 1.1 if usual > 0 and max(values) > PEAK * usual else None


def _note(steps: Sequence[int], heights: Sequence[float | None], top: float | None) -> str:
    if top is None:
        return ""
    beyond = [
        (height, step) for step, height in zip(steps, heights, strict=True) if height is not None and height > top
    ]
    height, step = max(beyond)
    return f"Above the axis: {len(beyond)} of {len(steps)} steps, at most {significant(height)} (step {step})."


def _text(value: float | None, kind: Literal["percent", "number"]) -> str:
    return percent(value, 1) if kind == "percent" else significant(value)
