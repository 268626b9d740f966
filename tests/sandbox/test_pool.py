"""Many programs at a time: order, queueing, closing, and what happens when a zygote dies."""

import os
import signal
import tempfile
import time
from concurrent.futures import CancelledError
from pathlib import Path

import pytest

from murphy_jax.sandbox import Outcome, Program, Sandbox, run
from tests.sandbox.programs import LIMITS, descendants, program, zygotes

SLEEP = "import time\ndef solve():\n    time.sleep({})\n    return {}\n"
GOOD = program("def solve(): return 1")


def test_verdicts_come_in_the_order_of_the_programs(sandbox: Sandbox) -> None:
    programs = [
        program(SLEEP.format(0.02 * (9 - n), n), f"assert solve() == {n}", "assert solve() == -1") for n in range(9)
    ]

    verdicts = sandbox.run(programs)

    assert [verdict.tests[1].got for verdict in verdicts] == [str(n) for n in range(9)]


def test_programs_run_side_by_side(sandbox: Sandbox) -> None:
    started = time.monotonic()

    verdicts = sandbox.run([program(SLEEP.format(0.5, 1))] * 2)

    assert time.monotonic() - started < sum(verdict.seconds for verdict in verdicts)


def test_submitting_does_not_wait(sandbox: Sandbox) -> None:
    started = time.monotonic()
    futures = [sandbox.submit(program(SLEEP.format(0.5, 1))) for _ in range(4)]
    elapsed = time.monotonic() - started

    assert elapsed < 0.5
    assert [future.result().outcome for future in futures] == [Outcome.PASSED] * 4


def test_no_programs_give_no_verdicts() -> None:
    assert run([], LIMITS) == []


def test_a_program_without_tests_has_no_reward(sandbox: Sandbox) -> None:
    (verdict,) = sandbox.run([Program(source="", tests=(), entry_point="f")])

    assert (verdict.tests, verdict.fraction) == ((), 0.0)


@pytest.mark.parametrize("namespaces", [True, False])
def test_a_job_whose_zygote_is_killed_is_tried_again(
    namespaces: bool, open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(open_folder))
    with Sandbox(LIMITS, workers=1, namespaces=namespaces) as sandbox:
        sandbox.run([GOOD])
        future = sandbox.submit(program(SLEEP.format(0.6, 1)))
        time.sleep(0.2)
        before = zygotes() & _children()
        for pid in before:
            os.kill(pid, signal.SIGKILL)

        assert future.result().outcome is Outcome.PASSED
        assert before
        assert not zygotes() & before
        assert sandbox.run([GOOD])[0].outcome is Outcome.PASSED
    assert list(open_folder.iterdir()) == []


def test_closing_cancels_what_waits_and_ends_what_runs() -> None:
    before = descendants(os.getpid())
    sandbox = Sandbox(LIMITS, workers=1)
    sandbox.run([GOOD])
    running = sandbox.submit(program(SLEEP.format(60, 1)))
    waiting = sandbox.submit(GOOD)
    time.sleep(0.1)
    started = time.monotonic()

    sandbox.close()
    sandbox.close()

    assert time.monotonic() - started < 5
    assert running.result().tests[0].outcome is Outcome.INFRA
    with pytest.raises(CancelledError):
        waiting.result()
    with pytest.raises(RuntimeError):
        sandbox.submit(GOOD)
    assert descendants(os.getpid()) == before


def test_two_hundred_programs_leave_nothing_behind(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(open_folder))
    messy = program(
        "open('left', 'w').close()\nimport os\nos.makedirs('a/b')\nos.chmod('a', 0)\ndef solve(): return 1\n"
    )
    processes, descriptors = descendants(os.getpid()), _num_descriptors(os.getpid())

    with Sandbox(LIMITS, workers=2) as sandbox:
        sandbox.run([GOOD] * 20)
        held = {pid: _num_descriptors(pid) for pid in zygotes()}
        verdicts = sandbox.run([GOOD, messy] * 100)
        assert {pid: _num_descriptors(pid) for pid in zygotes()} == held

    assert {verdict.outcome for verdict in verdicts} == {Outcome.PASSED}
    assert list(open_folder.iterdir()) == []
    assert descendants(os.getpid()) == processes
    assert _num_descriptors(os.getpid()) == descriptors


def _num_descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def _children() -> set[int]:
    """The direct children of this process, without the forks of those."""
    everyone = descendants(os.getpid())
    return everyone - {pid for child in everyone for pid in descendants(child)}
