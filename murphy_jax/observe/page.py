"""The report: one self-contained HTML page of a run, readable from a disk with no network.

Curves are drawn here; recorded trees are embedded as JSON, one block a tree, and the page's script parses and draws the
chosen one. Programs and completions are hostile text: they reach the page as escaped JSON or through an escaping
template, the script shows them as text only, and a content security policy allows exactly that one script and no
connection.
"""

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from murphy_jax.errors import UserError
from murphy_jax.observe import charts, iterations, plots, quantity, run_folder
from murphy_jax.observe.quantity import MISSING, known
from murphy_jax.observe.run_folder import RunFolder

ENDS = 5
SCRIPTS = ("element.js", "charts.js", "program.js", "tree.js", "node.js", "page.js")


@dataclass(frozen=True, kw_only=True)
class Tile:
    """A headline number: what, its value, and where it came from."""

    label: str
    value: str
    detail: str


@dataclass(frozen=True, kw_only=True)
class HeldOut:
    """One benchmark's table and drawings."""

    benchmark: str
    before: Mapping[str, Any]
    after: Mapping[str, Any] | None
    rows: list[iterations.Row]
    intervals: Markup
    curve: charts.Chart | None


def write_report(folder: Path, output_path: Path) -> Path:
    """Write the report of a run and return where it is.

    Raises:
        UserError: `folder` is no run folder, or a file cannot be read or written.
    """
    page = render(run_folder.load(folder))
    partial = output_path.with_name(output_path.name + ".partial")
    try:
        output_path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(page, encoding="utf-8", errors="replace")
        partial.replace(output_path)
    except OSError as error:
        raise UserError(f"Cannot write the report {output_path}: {error.strerror}.") from None
    return output_path


def render(run: RunFolder) -> str:
    """The page as text; the same run gives the same page."""
    environment = Environment(
        loader=PackageLoader("murphy_jax", "assets/report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = _source(environment, "page.css")
    script = "".join(_source(environment, name) for name in SCRIPTS)
    sections = charts.training_charts(run.metrics)
    held_out = _held_out(run.evaluations)
    curves = [entry.curve for entry in held_out if entry.curve is not None]
    return environment.get_template("page.html.j2").render(
        run=run,
        quantity=quantity,
        style=Markup(style),
        script=Markup(script),
        policy=f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'",
        summary=_summary(run),
        tiles=_tiles(run, held_out),
        totals=_totals(run.metrics),
        held_out=held_out,
        sections=sections,
        num_curves=len(curves),
        chart_data=embed([chart.data() for chart in [*curves, *(chart for _, drawn in sections for chart in drawn)]]),
        index=embed([_index(tree) for tree in run.trees]),
        trees=(embed(tree) for tree in run.trees),
    )


def embed(value: object) -> Markup:
    """JSON that is safe inside a script element: ASCII, and no `<`, `>` or `&` that could end or open markup."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _source(environment: Environment, name: str) -> str:
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _index(tree: Mapping[str, Any]) -> dict[str, Any]:
    """What the menus show of a tree before it is parsed."""
    rewards = [member.get("reward") for group in tree.get("groups", ()) for member in group.get("members", ())]
    solved = sum((known(reward) or 0.0) >= 1.0 for reward in rewards)
    return {"step": tree.get("step"), "task": str(tree.get("task_id", "")), "nodes": len(rewards), "solved": solved}


def _summary(run: RunFolder) -> str:
    """One line under the title: how long, what shape, how many trees."""
    parts = []
    if run.metrics:
        parts.append(_plural(int(run.metrics[-1]["step"]), "training step"))
    if run.trees:
        first = run.trees[0]
        parts += [_plural(first.get("num_turns", 0), "turn"), f"groups of {first.get('group_size', MISSING)}"]
        parts.append(_plural(len(run.trees), "recorded tree"))
    return ", ".join(parts) or "nothing recorded yet"


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _held_out(evaluations: Sequence[Mapping[str, Any]]) -> list[HeldOut]:
    entries = []
    for benchmark, (before, after) in iterations.first_and_last(evaluations).items():
        rows = iterations.compare(before, after)
        if not rows:
            continue
        drawing = plots.interval_chart(
            iterations.rates(before), iterations.rates(after or {}), label=f"Held-out {benchmark}, pass@1 by iteration"
        )
        same = [record for record in evaluations if str(record.get("benchmark", "held-out")) == benchmark]
        entries.append(
            HeldOut(
                benchmark=benchmark,
                before=before,
                after=after,
                rows=rows,
                intervals=Markup(drawing),
                curve=charts.evaluation_chart(same),
            )
        )
    return entries


def _tiles(run: RunFolder, held_out: Sequence[HeldOut]) -> list[Tile]:
    """Held-out pass@1 of each iteration; where nothing was evaluated, the training rewards."""
    if held_out:
        return [_rate_tile(row, step=held_out[0].before.get("step")) for row in held_out[0].rows]
    tiles = []
    for key, label in (
        ("reward/turn_1", "Training reward, turn 1"),
        ("reward/turn_2", "Training reward, turn 2"),
        ("rescue_rate/turn_2", "Rescue rate, turn 2"),
    ):
        values = [value for record in run.metrics if (value := known(record.get(key))) is not None]
        if values:
            first, last = _mean(values[:ENDS]), _mean(values[-ENDS:])
            detail = f"from {first:.2f}; means of {ENDS} steps" if len(values) >= 2 * ENDS else "last steps"
            tiles.append(Tile(label=label, value=f"{last:.2f}", detail=detail))
    return tiles


def _rate_tile(row: iterations.Row, *, step: object) -> Tile:
    shown = row.after or row.before
    assert shown is not None
    detail = f"at step {step}" if row.after is None else "not measured before"
    if row.change is not None and row.before is not None:
        detail = f"from {100 * row.before.value:.1f} %, {100 * row.change:+.1f} points"
    return Tile(label=f"Iter-{row.iteration} pass@1, held out", value=f"{100 * shown.value:.1f} %", detail=detail)


def _totals(metrics: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """What the whole run used: the quantities by which runs can be matched."""
    names = {name for record in metrics for name in record}
    nodes = sorted(name for name in names if name.startswith("nodes/turn_"))
    counted = [
        ("Completions", nodes),
        ("Tokens generated", ["tokens/generated"]),
        ("Tokens trained", ["tokens/trained"]),
        ("Programs run", ["executions"]),
    ]
    totals = [
        (label, quantity.compact(_sum(metrics, keys))) for label, keys in counted if keys and names.intersection(keys)
    ]
    if "seconds/step" in names:
        totals.append(("Training time", quantity.duration(_sum(metrics, ["seconds/step"]))))
    return totals


def _sum(metrics: Iterable[Mapping[str, Any]], keys: Sequence[str]) -> float:
    return sum(known(record.get(key)) or 0.0 for record in metrics for key in keys)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))
