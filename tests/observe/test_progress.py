"""Progress: a live panel on a terminal, quiet ASCII lines elsewhere, and nothing that reads text as markup."""

import io
import random
import re
from typing import Any

import pytest
from rich.console import Console

from murphy_jax.observe import panel
from murphy_jax.observe.progress import Progress, TrainingProgress, iteration_table
from tests.observe.runs import fake_evaluation, fake_metrics

METRICS = {
    "reward/turn_1": 0.41,
    "reward/turn_2": 0.63,
    "pass_rate/turn_1": 0.18,
    "pass_rate/turn_2": 0.44,
    "rescue_rate/turn_2": 0.31,
    "length/turn_1": 143.2,
    "loss": 0.0123,
    "grad_norm": 0.87,
    "rate/tokens_per_second": 3100.0,
    "rate/executions_per_second": 92.0,
}


class Clock:
    """A clock that moves when told."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def quiet() -> Console:
    return Console(file=io.StringIO(), width=80)


def terminal() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=100, height=40, _environ={"TERM": "xterm"})


def output(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def plain(console: Console) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", output(console))


def test_without_a_terminal_a_step_is_one_line() -> None:
    console, clock = quiet(), Clock()
    with TrainingProgress(80, console=console, num_turns=2, clock=clock) as progress:
        for step in range(1, 13):
            clock.now += 2.0
            progress.update(step, METRICS)
    assert output(console).splitlines()[-1] == (
        "step 12/80  reward 0.41 -> 0.63  pass 18 % -> 44 %  rescue 31 %  3.1k tokens/s  92 exec/s  2 min left"
    )
    assert len(output(console).splitlines()) == 12


def test_lines_are_ascii_without_control_codes() -> None:
    console = quiet()
    with TrainingProgress(2, console=console, num_turns=2) as progress:
        progress.update(1, METRICS)
    assert re.fullmatch(r"[ -~\n]+", output(console))


def test_one_turn_has_no_arrow_and_no_rescue_rate() -> None:
    console = quiet()
    with TrainingProgress(2, console=console, num_turns=1) as progress:
        progress.update(1, METRICS)
    assert "reward 0.41  pass 18 %  3.1k" in output(console)


def test_three_turns_show_the_rescue_rate_of_each_repair() -> None:
    console = quiet()
    with TrainingProgress(2, console=console, num_turns=3) as progress:
        progress.update(1, METRICS | {"rescue_rate/turn_3": 0.2, "reward/turn_3": 0.7})
    assert "reward 0.41 -> 0.70" in output(console)
    assert "rescue 31 % / 20 %" in output(console)


def test_every_nth_step_and_the_last_are_printed() -> None:
    console = quiet()
    with TrainingProgress(8, console=console, num_turns=2, every=3) as progress:
        for step in range(1, 9):
            progress.update(step, METRICS)
    assert [line.split()[1] for line in output(console).splitlines()] == ["3/8", "6/8", "8/8"]


def test_the_slow_first_step_does_not_spoil_the_time_left() -> None:
    console, clock = quiet(), Clock()
    with TrainingProgress(12, console=console, num_turns=2, clock=clock) as progress:
        for step, seconds in enumerate((100.0, 2.0, 2.0), start=1):
            clock.now += seconds
            progress.update(step, METRICS)
    lines = output(console).splitlines()
    assert lines[0].endswith("18 min left")
    assert lines[-1].endswith("18 s left")


def test_a_resumed_run_counts_only_its_own_steps() -> None:
    console, clock = quiet(), Clock()
    with TrainingProgress(100, console=console, num_turns=2, done=90, clock=clock) as progress:
        clock.now += 2.0
        progress.update(91, METRICS)
    assert output(console).startswith("step 91/100 ")
    assert output(console).rstrip().endswith("18 s left")


@pytest.mark.parametrize("value", [float("nan"), None])
def test_a_metric_that_is_missing_or_not_finite_is_a_dash(value: Any) -> None:
    console = quiet()
    with TrainingProgress(2, console=console, num_turns=2) as progress:
        progress.update(1, {"reward/turn_1": value})
    assert "reward - -> -  pass - -> -  rescue -  - tokens/s" in output(console)


def test_a_note_is_printed_as_it_is_on_one_line() -> None:
    console = quiet()
    text = "saved [bold]runs/demo[/bold]/checkpoints/20 " + "x" * 100
    with TrainingProgress(2, console=console, num_turns=2) as progress:
        progress.note(text)
    assert output(console) == text + "\n"


def test_on_a_terminal_the_panel_shows_turns_and_notes_stay_above_it() -> None:
    console = terminal()
    with TrainingProgress(80, console=console, num_turns=2) as progress:
        progress.update(12, METRICS)
        progress.note("saved checkpoint 12")
    text = plain(console)
    assert "saved checkpoint 12" in text
    assert text.rindex("saved checkpoint 12") < text.rindex("step 12/80")
    last = text[text.rindex("step 12/80") :]
    assert re.search(r"turn +reward +pass rate +rescued +length", last)
    assert re.search(r"2 +0\.63 +44 % +31 %", last)
    assert re.search(r"0\.0123 +0\.870 ", last)


def test_on_a_terminal_the_wait_for_the_first_step_is_explained() -> None:
    console = terminal()
    with TrainingProgress(80, console=console, num_turns=2):
        pass
    assert "Waiting for the first step" in plain(console)


def test_a_dumb_terminal_gets_lines() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=200, _environ={"TERM": "dumb"})
    with TrainingProgress(2, console=console, num_turns=2) as progress:
        progress.update(1, METRICS)
    assert len(plain(console).splitlines()) == 1


def test_an_exception_passes_through_and_ends_the_display() -> None:
    console = terminal()
    with pytest.raises(KeyboardInterrupt), TrainingProgress(2, console=console, num_turns=2):
        raise KeyboardInterrupt
    assert output(console).count("\x1b[?25h") == 1  # the cursor is shown again


def test_the_panel_fits_eighty_four_columns_and_can_do_without_unicode() -> None:
    rng = random.Random(0)
    history = [fake_metrics(rng, step=step, steps=200, turns=3) for step in range(1, 101)]
    snapshot = panel.Snapshot(
        step=100,
        total_steps=200,
        num_turns=3,
        metrics=history[-1],
        rewards=[[record[f"reward/turn_{turn}"] for record in history] for turn in (1, 2, 3)],
        elapsed=400.0,
        remaining=400.0,
    )
    console = Console(file=io.StringIO(), width=120)
    console.print(panel.training_panel(snapshot, unicode=False))
    lines = output(console).splitlines()
    assert max(map(len, lines)) == panel.PANEL_WIDTH
    # The bar itself takes its characters from the console's encoding.
    assert all(line.isascii() for line in lines if "step 100/200" not in line)


def test_the_trend_is_the_reward_over_the_whole_run_in_a_fixed_width() -> None:
    assert panel.trend([]) == ""
    assert panel.trend([0.0, None, 1.0]) == "\u2581\u2588"
    assert len(panel.trend([0.5] * 1000)) == panel.TREND_WIDTH
    rising = panel.trend([index / 1000 for index in range(1000)])
    assert list(rising) == sorted(rising)


def test_a_plain_job_prints_at_most_every_ten_seconds_and_at_the_end() -> None:
    console, clock = quiet(), Clock()
    with Progress("warm start", 40, console=console, clock=clock) as progress:
        for part in range(40):
            clock.now += 1.0
            progress.advance(status=f"loss {4 - part / 20:.2f}")
    assert output(console).splitlines() == [
        "warm start 10/40  loss 3.55  30 s left",
        "warm start 20/40  loss 3.05  20 s left",
        "warm start 30/40  loss 2.55  10 s left",
        "warm start 40/40  loss 2.05  took 40 s",
    ]


def test_a_plain_job_on_a_terminal_is_a_bar_that_ends_full() -> None:
    console = terminal()
    with Progress("evaluate [repair]", 4, console=console) as progress:
        progress.note("first note")
        for _ in range(4):
            progress.advance(status="pass [1/2]")
    text = plain(console)
    assert "first note" in text
    last = text.splitlines()[-1]
    assert last.startswith("evaluate [repair]")
    assert "4/4" in last
    assert "pass [1/2]" in last


def rendered(before: dict[str, Any], after: dict[str, Any] | None = None) -> str:
    console = Console(file=io.StringIO(), width=120)
    console.print(iteration_table(before, after))
    return output(console)


def test_the_held_out_table_has_both_rates_with_intervals_and_the_change() -> None:
    common = {"benchmark": "repair", "num_tasks": 64, "samples_per_task": 4}
    before = {"step": 0, **common, "iterations": [{"iteration": 1, "pass_rate": 0.25, "low": 0.15, "high": 0.36}]}
    rows = [
        {"iteration": 1, "pass_rate": 0.5, "low": 0.4, "high": 0.61},
        {"iteration": 2, "pass_rate": 0.75, "low": None, "high": None},
    ]
    after = {"step": 60, **common, "iterations": rows}
    text = rendered(before, after)
    assert "held-out repair" in text
    assert re.search(r"step 0 +step 60 +change", text)
    assert re.search(r"Iter-1 +25\.0 % +\[15\.0, 36\.0\] +50\.0 % +\[40\.0, 61\.0\] +\+25\.0", text)
    assert re.search(r"Iter-2 +- +75\.0 % +-", text)
    assert "64 tasks, 4 attempts each" in text


def test_before_training_the_table_has_one_column_of_rates() -> None:
    text = rendered(fake_evaluation(random.Random(0), step=0, gain=0.0))
    assert "change" not in text
    assert len(re.findall(r"Iter-\d", text)) == 3


def test_a_benchmark_name_is_not_markup() -> None:
    assert "held-out [red]x[/red]" in rendered({"step": 0, "benchmark": "[red]x[/red]", "iterations": []})
