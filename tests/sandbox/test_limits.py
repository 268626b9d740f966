"""What a program may use: each limit ends it with an outcome of its own, and none of them is ever a pass."""

import time
from dataclasses import replace

import pytest

from murphy_jax.sandbox import Limits, Outcome, Program, Sandbox, run
from tests.sandbox.programs import CPU_SECONDS, LIMITS, grade, only_result, program

LOOP = "def solve(x):\n    while x:\n        pass\n    return x\n"


def test_an_infinite_loop_keeps_the_verdicts_of_the_tests_before_it(sandbox: Sandbox) -> None:
    verdict = grade(sandbox, LOOP, "assert solve(0) == 0", "assert solve(1) == 0", "assert solve(0) == 0")

    assert [test.outcome for test in verdict.tests] == [Outcome.PASSED, Outcome.TIMEOUT, Outcome.TIMEOUT]
    assert [test.case for test in verdict.tests] == ["", "solve(1)", "solve(0)"]
    assert verdict.tests[1].message == f"timed out after {CPU_SECONDS:g} s of CPU"
    assert 'File "solution.py", line' in verdict.tests[1].traceback
    assert verdict.cpu_seconds >= CPU_SECONDS / 2


def test_a_loop_that_swallows_every_exception_is_stopped_too(sandbox: Sandbox) -> None:
    stubborn = (
        "def solve():\n"
        "    while True:\n"
        "        try:\n"
        "            while True: pass\n"
        "        except BaseException: pass\n"
    )

    assert only_result(sandbox, stubborn).outcome is Outcome.TIMEOUT


def test_a_program_that_switches_the_alarm_off_is_stopped_too(sandbox: Sandbox) -> None:
    source = "import signal\nsignal.setitimer(signal.ITIMER_PROF, 0)\ndef solve():\n    while True: pass\n"

    result = only_result(sandbox, source)

    assert (result.outcome, result.case) == (Outcome.TIMEOUT, "solve()")


def test_a_call_into_c_that_never_returns_is_stopped(sandbox: Sandbox) -> None:
    assert only_result(sandbox, "def solve():\n    return 1 in iter(int, 1)\n").outcome is Outcome.TIMEOUT


def test_a_program_that_only_sleeps_meets_the_wall_clock() -> None:
    limits = replace(LIMITS, wall_seconds=0.5)

    (verdict,) = run([program("import time\ndef solve():\n    time.sleep(60)\n")], limits)

    assert verdict.tests[0].outcome is Outcome.TIMEOUT
    assert verdict.tests[0].message == "timed out after 0.5 s"


def test_a_program_may_have_a_cpu_limit_of_its_own(sandbox: Sandbox) -> None:
    busy = f"import time\ndef solve():\n    while time.process_time() < {CPU_SECONDS * 1.5}: pass\n    return 1\n"
    patient = replace(program(busy), cpu_seconds=CPU_SECONDS * 20)

    assert sandbox.run([patient])[0].outcome is Outcome.PASSED


@pytest.mark.parametrize("grab", ["bytearray(2**30)", "[0] * 2**28", "'x' * 2**30", "list(range(10**8))"])
def test_memory_is_limited_and_the_next_test_still_runs(sandbox: Sandbox, grab: str) -> None:
    verdict = grade(sandbox, f"def solve(n):\n    return {grab} if n else 1\n", "solve(1)", "assert solve(0) == 1")

    assert [test.outcome for test in verdict.tests] == [Outcome.KILLED, Outcome.PASSED]
    assert verdict.tests[0].message == "killed: memory limit of 64 MiB"


def test_memory_within_the_limit_is_granted(sandbox: Sandbox) -> None:
    assert only_result(sandbox, "def solve():\n    return len(bytearray(40 * 2**20)) // (40 * 2**20)\n").outcome is (
        Outcome.PASSED
    )


@pytest.mark.parametrize("namespaces", [True, False])
def test_a_fork_bomb_of_a_hundred_is_no_pass(namespaces: bool) -> None:
    bomb = (
        "import os, time\n"
        "def solve():\n"
        "    for _ in range(100):\n"
        "        if os.fork() == 0:\n"
        "            time.sleep(30)\n"
        "            os._exit(0)\n"
        "    time.sleep(5)\n"
        "    return 1\n"
    )
    with Sandbox(LIMITS, workers=1, namespaces=namespaces) as sandbox:
        result = only_result(sandbox, bomb)

        assert (result.outcome, result.message) == (Outcome.KILLED, "killed: limit of 8 processes")
        assert only_result(sandbox, "def solve(): return 1").outcome is Outcome.PASSED


def test_a_few_threads_are_allowed(sandbox: Sandbox) -> None:
    source = (
        "import threading\n"
        "def solve():\n"
        "    seen = []\n"
        "    threads = [threading.Thread(target=seen.append, args=(1,)) for _ in range(4)]\n"
        "    for thread in threads: thread.start()\n"
        "    for thread in threads: thread.join()\n"
        "    return len(seen)\n"
    )

    assert only_result(sandbox, source, "assert solve() == 4").outcome is Outcome.PASSED


def test_an_output_flood_is_stopped(sandbox: Sandbox) -> None:
    result = only_result(sandbox, "def solve():\n    while True: print('x' * 1000)\n")

    assert (result.outcome, result.message) == (Outcome.KILLED, "killed: output limit of 0.25 MiB")


def test_a_little_output_changes_nothing(sandbox: Sandbox) -> None:
    source = "import sys\nprint('before')\ndef solve():\n    print('x' * 9999, file=sys.stderr)\n    return 1\n"

    assert only_result(sandbox, source).outcome is Outcome.PASSED


def test_a_file_that_grows_too_large_is_stopped(sandbox: Sandbox) -> None:
    result = only_result(sandbox, "def solve():\n    open('big', 'wb').write(bytes(2**21))\n    return 1\n")

    assert (result.outcome, result.message) == (Outcome.KILLED, "killed: file limit of 1 MiB")


def test_a_flood_of_files_is_gone_for_the_next_program(sandbox: Sandbox) -> None:
    flood = "def solve():\n    for n in range(300): open(str(n), 'w').close()\n    return 1\n"
    look = "import os\ndef solve(): return len(os.listdir())\n"

    verdicts = sandbox.run([program(flood), program(look, "assert solve() == 0")] * 4)

    assert {verdict.outcome for verdict in verdicts} == {Outcome.PASSED}


def test_open_files_are_limited(sandbox: Sandbox) -> None:
    result = only_result(sandbox, "import os\ndef solve():\n    return [os.open('.', 0) for _ in range(1000)]\n")

    assert result.message == "OSError: [Errno 24] Too many open files: '.'"


@pytest.mark.parametrize("leave", ["os._exit(0)", "os.kill(os.getpid(), 9)", "os.killpg(0, 15)", "os.abort()"])
def test_leaving_early_is_never_a_pass(sandbox: Sandbox, leave: str) -> None:
    verdict = grade(sandbox, f"import os\n{leave}\ndef solve(): return 1\n", *["assert solve() == 1"] * 3)

    assert [test.outcome for test in verdict.tests] == [Outcome.KILLED] * 3


def test_leaving_in_a_test_keeps_the_verdict_before_it(sandbox: Sandbox) -> None:
    source = "import os\ndef solve(x): return x or os._exit(0)\n"

    verdict = grade(sandbox, source, "assert solve(1) == 1", "assert solve(0) == 0")

    assert [test.outcome for test in verdict.tests] == [Outcome.PASSED, Outcome.KILLED]
    assert verdict.tests[1].message == "the process ended early, with exit code 0"


@pytest.mark.parametrize(
    "leave", ["sys.exit()", "sys.exit(0)", "exit()", "raise SystemExit", "raise KeyboardInterrupt"]
)
def test_a_polite_exit_is_an_error(sandbox: Sandbox, leave: str) -> None:
    source = f"import sys\ndef solve():\n    {leave}\n"

    assert grade(sandbox, source, "solve()", "assert True").tests[0].outcome is Outcome.ERROR
    assert grade(sandbox, f"import sys\n{leave}\ndef solve(): return 1").tests[0].outcome is Outcome.ERROR


def test_a_fork_that_comes_back_adds_no_verdicts(sandbox: Sandbox) -> None:
    source = "import os\ndef solve():\n    return 2 if os.fork() else 1\n"

    verdict = grade(sandbox, source, "assert solve() == 2", "assert True")

    assert [test.outcome for test in verdict.tests] == [Outcome.PASSED, Outcome.PASSED]
    assert grade(sandbox, source, "assert solve() == 1").outcome is Outcome.WRONG


def test_endless_recursion_is_an_error_and_deep_recursion_is_not(sandbox: Sandbox) -> None:
    deep = "import sys\nsys.setrecursionlimit(20_000)\ndef solve(n=9_000): return n and 1 + solve(n - 1)\n"

    endless = only_result(sandbox, "def solve(): return solve()\n")

    assert (endless.outcome, endless.message.partition(":")[0]) == (Outcome.ERROR, "RecursionError")
    assert only_result(sandbox, deep, "assert solve() == 9_000").outcome is Outcome.PASSED


def test_busy_neighbours_do_not_use_up_a_programs_cpu_time() -> None:
    busy = "import time\ndef solve():\n    while time.process_time() < 0.1: pass\n    return 1\n"
    started = time.monotonic()

    verdicts = run([program(busy)] * 12, Limits(cpu_seconds=CPU_SECONDS))

    assert [verdict.outcome for verdict in verdicts] == [Outcome.PASSED] * 12
    assert time.monotonic() - started > CPU_SECONDS


def test_a_broken_test_is_the_graders_fault(sandbox: Sandbox) -> None:
    result = only_result(sandbox, "def solve(): return 1", "assert solve( == 1")

    assert result.outcome is Outcome.INFRA
    assert "does not compile" in result.message


def test_a_broken_prelude_is_the_graders_fault(sandbox: Sandbox) -> None:
    broken = Program(source="def f(): return 1", prelude="1 / 0", tests=("assert f() == 1",), entry_point="f")

    assert sandbox.run([broken])[0].outcome is Outcome.INFRA
