"""What one training step looks like in a terminal: a panel where it can be redrawn, a line where it cannot.

Only rendering: metrics in, rich renderables or text out. Metric names are those of metrics.jsonl.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from murphy_jax.observe.quantity import MISSING, compact, duration, fixed, known, percent, significant

PANEL_WIDTH = 84
TREND_WIDTH = 16
_BLOCKS = "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """All that is drawn at one moment.

    Attributes:
        step: steps done.
        total_steps: steps of the whole run.
        num_turns: S.
        metrics: of the last step; empty before the first.
        rewards: mean reward of every step seen, one sequence a turn.
        elapsed: seconds since the start.
        remaining: seconds to go, None while unknown.
    """

    step: int
    total_steps: int
    num_turns: int
    metrics: Mapping[str, float]
    rewards: Sequence[Sequence[float | None]]
    elapsed: float
    remaining: float | None


def step_line(snapshot: Snapshot) -> str:
    """One quiet line in ASCII: `step 12/80  reward 0.41 -> 0.63  pass 18 % -> 44 %  rescue 31 %  ...`."""
    metrics, last = snapshot.metrics, snapshot.num_turns
    ends = (1,) if last == 1 else (1, last)
    parts = [
        f"step {snapshot.step}/{snapshot.total_steps}",
        f"reward {' -> '.join(fixed(metrics.get(f'reward/turn_{turn}')) for turn in ends)}",
        f"pass {' -> '.join(percent(metrics.get(f'pass_rate/turn_{turn}')) for turn in ends)}",
    ]
    if last > 1:
        rescued = [percent(metrics.get(f"rescue_rate/turn_{turn}")) for turn in range(2, last + 1)]
        parts.append(f"rescue {' / '.join(rescued)}")
    parts.append(f"{compact(metrics.get('rate/tokens_per_second'))} tokens/s")
    parts.append(f"{compact(metrics.get('rate/executions_per_second'))} exec/s")
    if snapshot.remaining is not None:
        parts.append(f"{duration(snapshot.remaining)} left")
    return "  ".join(parts)


def training_panel(snapshot: Snapshot, *, unicode: bool = True) -> RenderableType:
    """The live panel: bar, turns, optimisation, rates. `unicode` false draws it without block characters."""
    parts: list[RenderableType] = [_bar(snapshot), Text()]
    if snapshot.metrics:
        parts += [_turn_table(snapshot, unicode=unicode), Text(), _numbers(snapshot.metrics)]
    else:
        parts.append(Text("Waiting for the first step; it also compiles the programs.", style="dim"))
    return Panel(
        Group(*parts),
        title=Text("murphy train", style="bold"),
        title_align="left",
        border_style="dim",
        padding=(1, 2),
        width=PANEL_WIDTH,
        box=box.ROUNDED if unicode else box.ASCII,
    )


def _bar(snapshot: Snapshot) -> Table:
    row = Table.grid(padding=(0, 2), expand=True)
    for ratio in (None, 1, None, None):
        row.add_column(ratio=ratio, no_wrap=True, justify="right" if ratio is None else "left")
    left = MISSING if snapshot.remaining is None else f"{duration(snapshot.remaining)} left"
    row.add_row(
        Text(f"step {snapshot.step}/{snapshot.total_steps}", style="bold"),
        ProgressBar(total=max(1, snapshot.total_steps), completed=snapshot.step, complete_style="cyan"),
        Text(f"{duration(snapshot.elapsed)} elapsed", style="dim"),
        Text(left),
    )
    return row


def _turn_table(snapshot: Snapshot, *, unicode: bool) -> Table:
    table = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False, header_style="dim")
    for name in ("turn", "reward", "pass rate", "rescued", "length", "truncated"):
        table.add_column(name, justify="right", no_wrap=True)
    if unicode:
        table.add_column("reward so far", no_wrap=True)
    for turn in range(1, snapshot.num_turns + 1):
        cells = [
            str(turn),
            fixed(snapshot.metrics.get(f"reward/turn_{turn}")),
            percent(snapshot.metrics.get(f"pass_rate/turn_{turn}")),
            percent(snapshot.metrics.get(f"rescue_rate/turn_{turn}")) if turn > 1 else "",
            fixed(snapshot.metrics.get(f"length/turn_{turn}"), 0),
            percent(snapshot.metrics.get(f"truncated_share/turn_{turn}")),
        ]
        table.add_row(*cells, *([Text(trend(snapshot.rewards[turn - 1]), style="cyan")] if unicode else []))
    return table


def _numbers(metrics: Mapping[str, float]) -> Table:
    shown = (
        ("loss", significant(metrics.get("loss"))),
        ("grad norm", significant(metrics.get("grad_norm"))),
        ("dead groups", percent(metrics.get("dead_group_share"))),
        ("tokens/s", compact(metrics.get("rate/tokens_per_second"))),
        ("exec/s", compact(metrics.get("rate/executions_per_second"))),
        ("s/step", fixed(metrics.get("seconds/step"), 1)),
    )
    table = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False, header_style="dim")
    for name, _ in shown:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_row(*(value for _, value in shown))
    return table


def trend(values: Sequence[float | None], width: int = TREND_WIDTH) -> str:
    """Values in [0, 1] over the run as `width` block characters; each is the mean of an equal part of the run."""
    numbers = [number for value in values if (number := known(value)) is not None]
    columns = min(width, len(numbers))
    means = []
    for column in range(columns):
        part = numbers[column * len(numbers) // columns : (column + 1) * len(numbers) // columns]
        means.append(sum(part) / len(part))
    top = len(_BLOCKS) - 1
    return "".join(_BLOCKS[round(top * min(1.0, max(0.0, mean)))] for mean in means)
