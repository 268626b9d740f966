"""The records that go in and come out: what follows from their fields."""

from dataclasses import replace

import pytest

from murphy_jax.sandbox import Outcome, Program, Sandbox, Verdict
from murphy_jax.sandbox import TestResult as Result  # pytest takes Test... for a test
from tests.sandbox.programs import LIMITS

TRY = Program(source="def f(x): return x", tests=("assert f(1) == 1", "assert f(1) == 2"), entry_point="f")


def test_the_outcome_is_the_first_that_is_no_pass() -> None:
    outcomes = [Outcome.PASSED, Outcome.TIMEOUT, Outcome.WRONG]
    verdict = Verdict(tests=tuple(Result(outcome=outcome) for outcome in outcomes))

    assert (verdict.outcome, verdict.num_passed) == (Outcome.TIMEOUT, 1)
    assert verdict.fraction == pytest.approx(1 / 3)


def test_a_longer_cpu_limit_of_a_program_stretches_its_wall_clock() -> None:
    sleep = "import time\ndef f(x):\n    time.sleep(0.6)\n    return x\n"
    short = replace(LIMITS, cpu_seconds=1.0, wall_seconds=0.3)
    with Sandbox(short, workers=1) as hasty:
        stopped, finished = hasty.run(
            [replace(TRY, source=sleep), replace(TRY, source=sleep, tests=TRY.tests[:1], cpu_seconds=20.0)]
        )

    assert (stopped.outcome, finished.outcome) == (Outcome.TIMEOUT, Outcome.PASSED)


def test_time_used_is_reported(sandbox: Sandbox) -> None:
    busy = "import time\nwhile time.process_time() < 0.1: pass\ndef f(x): return x\n"

    (verdict,) = sandbox.run([replace(TRY, source=busy)])

    assert 0.1 <= verdict.cpu_seconds <= verdict.seconds + 0.1
    assert [test.outcome for test in verdict.tests] == [Outcome.PASSED, Outcome.WRONG]
