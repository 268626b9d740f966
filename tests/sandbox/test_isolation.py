"""What a program cannot reach. Every program here acts on its own directory and its own processes only."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from murphy_jax.sandbox import Outcome, Sandbox
from tests.sandbox.programs import LIMITS, descendants, grade, only_result, program, zygotes

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="only root can run programs as another user")


@ROOT_ONLY
def test_programs_run_as_a_user_that_is_not_root(sandbox: Sandbox) -> None:
    source = "import os\ndef solve(): return 0 in (*os.getresuid(), *os.getresgid(), *os.getgroups())\n"

    assert "own user" in sandbox.isolation()
    assert only_result(sandbox, source, "assert solve() is False").outcome is Outcome.PASSED


@ROOT_ONLY
def test_a_program_cannot_take_root_back(sandbox: Sandbox) -> None:
    source = "import os\ndef solve(): os.setresuid(0, 0, 0)\n"

    assert only_result(sandbox, source).message == "PermissionError: [Errno 1] Operation not permitted"


@ROOT_ONLY
def test_a_program_cannot_write_the_trainers_files(sandbox: Sandbox, open_folder: Path) -> None:
    kept = open_folder / "kept"
    kept.write_text("kept")
    source = f"def solve(): open({str(kept)!r}, 'w').write('changed')\n"

    assert only_result(sandbox, source).outcome is Outcome.ERROR
    assert kept.read_text() == "kept"


@ROOT_ONLY
def test_root_refuses_to_run_programs_where_no_other_user_reaches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Sandbox(LIMITS, workers=1) as sandbox:
        result = only_result(sandbox, "def solve(): return 1")

    assert result.outcome is Outcome.INFRA
    assert "root runs no program itself" in result.message


def test_the_network_is_out_of_reach(sandbox: Sandbox) -> None:
    if "network namespace" not in sandbox.isolation():
        pytest.skip("this kernel lets this user make no network namespace")
    source = "import socket\ndef solve(): socket.create_connection(('127.0.0.1', 9), 1)\n"

    assert only_result(sandbox, source).message == "OSError: [Errno 101] Network is unreachable"


def test_the_trainers_environment_is_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MURPHY_TEST_TOKEN", "hidden")
    with Sandbox(LIMITS, workers=1) as sandbox:
        source = "import os\ndef solve(): return 'hidden' in str(dict(os.environ))\n"

        assert only_result(sandbox, source, "assert solve() is False").outcome is Outcome.PASSED


def test_the_trainers_descriptors_and_terminal_are_unseen(sandbox: Sandbox) -> None:
    source = (
        "import os\n"
        "def solve():\n"
        "    held = []\n"
        "    for number in range(3, 64):\n"
        "        try: held.append(os.fstat(number) and number)\n"
        "        except OSError: pass\n"
        "    return len(held), os.read(0, 1)\n"
    )

    only_its_pipe = "assert solve() == (1, b'')"
    assert only_result(sandbox, source, only_its_pipe).outcome is Outcome.PASSED


@pytest.mark.parametrize("name", ["harness", "harness.zygote", "murphy_jax", "numpy"])
def test_the_harness_and_installed_packages_cannot_be_imported(sandbox: Sandbox, name: str) -> None:
    assert only_result(sandbox, f"import {name}\ndef solve(): return 1\n").message.startswith("ModuleNotFoundError")


def test_the_usual_modules_can_be_imported_even_where_the_library_is_out_of_reach(sandbox: Sandbox) -> None:
    source = (
        "import asyncio, bisect, collections, datetime, functools, heapq, json, math, random, re, statistics\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "async def later(): return 1\n"
        "def solve():\n"
        "    with ThreadPoolExecutor(2) as pool:\n"
        "        doubled = list(pool.map(lambda x: 2 * x, range(3)))\n"
        "    day = datetime.datetime.strptime('2020-02-03', '%Y-%m-%d').day\n"
        "    return asyncio.run(later()), doubled, day, 'a'.encode('utf-16-le').decode('utf-16-le')\n"
    )

    assert only_result(sandbox, source, "assert solve() == (1, [0, 2, 4], 3, 'a')").outcome is Outcome.PASSED


def test_a_program_may_be_imported_by_its_tests_and_is_not_main(sandbox: Sandbox) -> None:
    source = "def solve(): return 1\nif __name__ == '__main__':\n    raise SystemExit\n"

    assert only_result(sandbox, source, "from solution import solve as it\nassert it() == 1").outcome is Outcome.PASSED


@pytest.mark.parametrize("namespaces", [True, False])
def test_a_daemon_left_behind_is_gone(namespaces: bool) -> None:
    daemon = (
        "import os, time\n"
        "def solve():\n"
        "    if os.fork() == 0:\n"
        "        os.setsid()\n"
        "        if os.fork() == 0:\n"
        "            while True: time.sleep(1)\n"
        "        os._exit(0)\n"
        "    time.sleep(0.1)\n"
        "    return 1\n"
    )
    with Sandbox(LIMITS, workers=1, namespaces=namespaces) as sandbox:
        grade(sandbox, "def solve(): return 1")
        before = descendants(os.getpid())

        assert only_result(sandbox, daemon).outcome is Outcome.PASSED
        assert descendants(os.getpid()) == before


def test_a_program_that_kills_its_group_hurts_no_other(sandbox: Sandbox) -> None:
    attack = "import os, signal\ndef solve():\n    os.killpg(0, signal.SIGKILL)\n"
    before = zygotes()

    verdicts = sandbox.run([program(attack), program("def solve(): return 1")] * 3)

    assert [verdict.outcome for verdict in verdicts] == [Outcome.KILLED, Outcome.PASSED] * 3
    assert before <= zygotes()


def test_nothing_of_one_program_is_left_for_the_next() -> None:
    leave = (
        "import builtins, math, os, sys\n"
        "builtins.len = lambda x: 1\n"
        "math.pi = 3\n"
        "sys.modules['left'] = math\n"
        "os.environ['LEFT'] = 'x'\n"
        "open('left', 'w').close()\n"
        "def solve(): return 1\n"
    )
    look = (
        "import math, os, sys\n"
        "def solve():\n"
        "    return len('ab'), math.pi > 3, 'left' in sys.modules, 'LEFT' in os.environ, os.listdir()\n"
    )
    with Sandbox(LIMITS, workers=1) as sandbox:
        verdicts = sandbox.run([program(leave), program(look, "assert solve() == (2, True, False, False, [])")])

    assert [verdict.outcome for verdict in verdicts] == [Outcome.PASSED] * 2


def test_links_out_of_the_directory_are_not_followed_when_it_is_emptied(sandbox: Sandbox, open_folder: Path) -> None:
    kept = open_folder / "kept"
    kept.write_text("kept")
    mode = open_folder.stat().st_mode
    link = f"import os\ndef solve():\n    os.symlink({str(open_folder)!r}, 'link')\n    return 1\n"

    assert only_result(sandbox, link).outcome is Outcome.PASSED
    assert kept.read_text() == "kept"
    assert open_folder.stat().st_mode == mode


def test_an_interrupt_from_the_terminal_does_not_reach_the_workers() -> None:
    script = (
        "import os, signal\n"
        "from tests.sandbox.programs import LIMITS, grade, program, zygotes\n"
        "from murphy_jax.sandbox import Sandbox\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "with Sandbox(LIMITS, workers=2) as sandbox:\n"
        "    sandbox.run([program('')] * 2)\n"
        "    before = zygotes()\n"
        "    assert all(os.getpgid(pid) != os.getpgrp() and os.getsid(pid) != os.getsid(0) for pid in before)\n"
        "    os.killpg(0, signal.SIGINT)\n"
        "    assert grade(sandbox, 'def solve(): return 1').fraction == 1.0\n"
        "    assert before and before <= zygotes()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=Path(__file__).parents[2], start_new_session=True, timeout=60, check=False
    )

    assert done.returncode == 0


def test_workers_end_when_the_trainer_is_killed() -> None:
    script = (
        "from tests.sandbox.programs import LIMITS, program, zygotes\n"
        "from murphy_jax.sandbox import Sandbox\n"
        "sandbox = Sandbox(LIMITS, workers=1)\n"
        "sandbox.isolation()\n"
        "sandbox.submit(program('import time\\ntime.sleep(60)'))\n"
        "print(*zygotes(), flush=True)\n"
        "input()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as trainer:
        assert trainer.stdout is not None
        pids = [int(pid) for pid in trainer.stdout.readline().split()]
        trainer.send_signal(signal.SIGKILL)
    assert pids
    _wait_until_gone(pids)


def _wait_until_gone(pids: list[int]) -> None:
    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < deadline, "a worker outlived its trainer"
        time.sleep(0.02)
