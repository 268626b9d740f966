"""Progress of a long job: a live display on a terminal, quiet lines everywhere else (files, CI, pipes).

    with TrainingProgress(80, console=Console(stderr=True), num_turns=2) as progress:
        progress.update(step, metrics)
        progress.note("saved checkpoint 20")

It displays and forgets: nothing is written to disk here, and no metric is computed.
"""

import time
from collections import deque
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from rich import box
from rich import progress as rich_progress
from rich.console import Console, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from murphy_jax.observe import iterations, panel
from murphy_jax.observe.quantity import MISSING, duration, known, percent

RECENT = 10
QUIET_SECONDS = 10.0


class TrainingProgress:
    """Context manager for a training run.

    Args:
        total_steps: steps of the whole run.
        console: where to; live only if it is a terminal.
        num_turns: S.
        done: steps already done when a run is resumed.
        every: without a terminal, one line every so many steps (and one for the last).
        clock: seconds, monotonic.
    """

    def __init__(
        self,
        total_steps: int,
        *,
        console: Console,
        num_turns: int,
        done: int = 0,
        every: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        assert every >= 1
        self._total, self._console, self._num_turns = total_steps, console, num_turns
        self._every, self._clock = every, clock
        self._step = done
        self._metrics: Mapping[str, float] = {}
        self._rewards: list[list[float | None]] = [[] for _ in range(num_turns)]
        self._started = clock()
        self._times: deque[tuple[int, float]] = deque([(done, self._started)], maxlen=RECENT + 1)
        self._live = (
            Live(get_renderable=self._panel, console=console, refresh_per_second=2) if _is_live(console) else None
        )

    def __enter__(self) -> "TrainingProgress":
        if self._live is not None:
            self._live.start(refresh=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def update(self, step: int, metrics: Mapping[str, float]) -> None:
        """Show that `step` (1-based) is done, with its metrics under the names of metrics.jsonl."""
        if len(self._times) == 1 and self._times[0][0] != step - 1:
            self._times[0] = (step - 1, self._times[0][1])
        self._step, self._metrics = step, dict(metrics)
        self._times.append((step, self._clock()))
        for turn, rewards in enumerate(self._rewards, start=1):
            rewards.append(known(metrics.get(f"reward/turn_{turn}")))
        if self._live is not None:
            self._live.refresh()
        elif step % self._every == 0 or step >= self._total:
            _print(self._console, panel.step_line(self._snapshot()))

    def note(self, message: RenderableType) -> None:
        """Print a message that stays, above the panel where there is one; text is printed as it is."""
        _print(self._console, message)

    def _remaining(self) -> float | None:
        """Seconds to go at the pace of the last steps; the first step compiles, so it leaves the mean early."""
        times = list(self._times)
        if len(times) > 2 and times[0][1] == self._started:
            times = times[1:]
        (first, start), (last, end) = times[0], times[-1]
        if last <= first:
            return None
        return (end - start) / (last - first) * max(0, self._total - last)

    def _snapshot(self) -> panel.Snapshot:
        return panel.Snapshot(
            step=self._step,
            total_steps=self._total,
            num_turns=self._num_turns,
            metrics=self._metrics,
            rewards=self._rewards,
            elapsed=self._clock() - self._started,
            remaining=self._remaining(),
        )

    def _panel(self) -> RenderableType:
        return panel.training_panel(self._snapshot(), unicode=not self._console.options.ascii_only)


class Progress:
    """Context manager for a job of `total` equal parts: warm start, evaluation, conversion.

    Args:
        description: what is done, for example `evaluate repair`.
        total: number of parts.
        console: where to; live only if it is a terminal, else a line at most every ten seconds and one at the end.
        clock: seconds, monotonic.
    """

    def __init__(
        self, description: str, total: int, *, console: Console, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._description, self._total, self._console, self._clock = description, total, console, clock
        self._done = 0
        self._started = self._printed = clock()
        self._bar = _bar(console) if _is_live(console) else None
        self._task = (
            self._bar.add_task(description, total=total, status="")
            if self._bar is not None
            else rich_progress.TaskID(0)
        )

    def __enter__(self) -> "Progress":
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, amount: int = 1, *, status: str = "") -> None:
        """Count `amount` more parts as done; `status` is shown beside the bar (`loss 1.23`)."""
        self._done += amount
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done, status=status)
            return
        now = self._clock()
        if self._done < self._total and now - self._printed < QUIET_SECONDS:
            return
        self._printed = now
        elapsed = now - self._started
        left = elapsed / max(1, self._done) * max(0, self._total - self._done)
        ending = f"{duration(left)} left" if self._done < self._total else f"took {duration(elapsed)}"
        parts = [f"{self._description} {self._done}/{self._total}", status, ending]
        _print(self._console, "  ".join(part for part in parts if part))

    def note(self, message: RenderableType) -> None:
        """Print a message that stays, above the bar where there is one."""
        _print(self._console, message)


def iteration_table(before: Mapping[str, Any], after: Mapping[str, Any] | None = None) -> Table:
    """Held-out pass@1 as a table: a row an iteration, columns before, after, change in points.

    Args:
        before: a record of evaluations.jsonl.
        after: a later record of the same benchmark; without it the table has one column of rates.
    """
    num_tasks, samples = before.get("num_tasks", MISSING), before.get("samples_per_task", MISSING)
    table = Table(
        title=Text(f"held-out {before.get('benchmark', '')}, pass@1 after at most k iterations", style="bold"),
        title_justify="left",
        caption=f"{num_tasks} tasks, {samples} attempts each; 95 % intervals",
        caption_justify="left",
        min_width=56,
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("")
    table.add_column(f"step {before.get('step', MISSING)}", justify="right", no_wrap=True)
    if after is not None:
        table.add_column(f"step {after.get('step', MISSING)}", justify="right", no_wrap=True)
        table.add_column("change", justify="right", no_wrap=True)
    for row in iterations.compare(before, after):
        cells = [f"Iter-{row.iteration}", _rate(row.before)]
        if after is not None:
            cells += [_rate(row.after), MISSING if row.change is None else f"{100 * row.change:+.1f}"]
        table.add_row(*cells)
    return table


def _rate(rate: iterations.Rate | None) -> str:
    if rate is None:
        return MISSING
    if rate.low is None or rate.high is None:
        return percent(rate.value, 1)
    # A backslash keeps rich from reading the bracket as markup.
    return f"{percent(rate.value, 1)}  \\[{100 * rate.low:.1f}, {100 * rate.high:.1f}]"


def _bar(console: Console) -> rich_progress.Progress:
    return rich_progress.Progress(
        rich_progress.TextColumn("{task.description}", markup=False),
        rich_progress.BarColumn(complete_style="cyan"),
        rich_progress.MofNCompleteColumn(),
        rich_progress.TimeRemainingColumn(compact=True),
        rich_progress.TextColumn("{task.fields[status]}", style="dim", markup=False),
        console=console,
    )


def _is_live(console: Console) -> bool:
    return console.is_terminal and not console.is_dumb_terminal


def _print(console: Console, message: RenderableType) -> None:
    if isinstance(message, str):
        message = Text(message)
    console.print(message, soft_wrap=isinstance(message, Text))
