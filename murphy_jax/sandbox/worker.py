"""One zygote as the trainer sees it: started when needed, asked for one verdict at a time, replaced when it fails."""

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from .harness import frames
from .harness.workspace import empty
from .program import Limits, Program
from .verdict import Outcome, TestResult, Verdict

_BOOT = """
import sys
sys.path.insert(0, sys.argv[1])
from harness.zygote import main
del sys.path[0]
main(int(sys.argv[2]))
"""
_ATTEMPTS = 2
_START_SECONDS = 60.0
_MARGIN_SECONDS = 30.0
_STOP_SECONDS = 5.0
_KEPT_VARIABLES = ("LD_LIBRARY_PATH", "SYSTEMROOT")


class Worker:
    """A zygote and its successors. For one thread at a time, except `interrupt`.

    Args:
        limits: what each program may use.
        namespaces: whether to try kernel namespaces.
    """

    def __init__(self, limits: Limits, *, namespaces: bool = True) -> None:
        self._limits = limits
        self._settings = {"namespaces": namespaces}
        self._interrupted = False
        self._zygote: _Zygote | None = None

    def grade(self, program: Program) -> Verdict:
        """Run a program; a zygote that fails is replaced, and the program tried once more."""
        fault = ""
        for _ in range(_ATTEMPTS):
            if self._interrupted:
                fault = "the sandbox was closed"
                break
            try:
                limits = _limits_of(program, self._limits)
                message = {**vars(program), "limits": vars(limits)}
                answer = self._started().ask(message, limits.wall_seconds + _MARGIN_SECONDS)
            except (OSError, EOFError, ValueError) as error:
                fault = f"the sandbox's process failed: {type(error).__name__}: {error}"
                self.stop()
                continue
            if not answer["fault"]:
                return _verdict(answer)
            fault = answer["fault"]
        return Verdict(tests=tuple(TestResult(outcome=Outcome.INFRA, message=fault) for _ in program.tests))

    def isolation(self) -> tuple[str, ...]:
        """What the kernel holds back from programs, by name.

        Raises:
            OSError, EOFError, ValueError: the zygote does not start.
        """
        return self._started().isolation

    def start(self) -> None:
        """Start the zygote without waiting until it is ready, so that several start at once.

        Raises:
            OSError: no process or directory could be made.
        """
        if self._zygote is None:
            self._zygote = _Zygote(self._settings)

    def interrupt(self) -> None:
        """End the running program and accept no other; from any thread."""
        self._interrupted = True
        if self._zygote is not None:
            self._zygote.hang_up()

    def stop(self) -> None:
        """End the zygote with all that it runs."""
        if self._zygote is not None:
            self._zygote.stop()
            self._zygote = None

    def _started(self) -> "_Zygote":
        self.start()
        assert self._zygote is not None
        if self._interrupted:  # it was interrupted while this one was being made
            self._zygote.hang_up()
        self._zygote.wait_until_ready()
        return self._zygote


class _Zygote:
    """A running zygote: its process, socket and directory."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.isolation: tuple[str, ...] = ()
        self._ready = False
        self._folder = Path(tempfile.mkdtemp(prefix="murphy-sandbox-"))
        self._folder.chmod(0o755)
        self._connection, theirs = socket.socketpair()
        with theirs:
            self._process = _launch(theirs.fileno())
        with contextlib.suppress(OSError):  # a zygote that died at once is noticed when it is asked
            frames.send(self._connection, {**settings, "folder": str(self._folder)})

    def wait_until_ready(self) -> None:
        """Wait for the first message.

        Raises:
            OSError, EOFError, ValueError: the zygote died or hangs.
            PermissionError: it refuses to run programs here.
        """
        if not self._ready:
            self._connection.settimeout(_START_SECONDS)
            greeting = frames.receive(self._connection)
            if "refused" in greeting:
                raise PermissionError(greeting["refused"])
            self.isolation = tuple(greeting["isolation"])
            self._ready = True

    def ask(self, job: dict[str, Any], seconds: float) -> dict[str, Any]:
        """The answer to a job, awaited that long.

        Raises:
            OSError, EOFError, ValueError: the zygote died or hangs.
        """
        self._connection.settimeout(seconds)
        frames.send(self._connection, job)
        return frames.receive(self._connection)

    def hang_up(self) -> None:
        """Tell the zygote to end; wakes a thread that waits for it."""
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def stop(self) -> None:
        """End the process and remove its directory."""
        self.hang_up()
        self._connection.close()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        with contextlib.suppress(OSError):  # gone where the zygote ended as it should
            empty(self._folder)
            self._folder.rmdir()


def _launch(descriptor: int) -> subprocess.Popen[bytes]:
    """Start a bare interpreter on the zygote's program: no site-packages, nothing of the user's environment."""
    arguments = ["-s", "-S", "-P", "-B", "-W", "ignore", "-c", _BOOT, str(Path(__file__).parent), str(descriptor)]
    environment = {
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONHASHSEED": "0",
        "PYTHONUTF8": "1",
        "MALLOC_ARENA_MAX": "1",
    }
    environment |= {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    return subprocess.Popen(
        [sys.executable, *arguments],
        env=environment,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=[descriptor],
        start_new_session=True,
    )


def _limits_of(program: Program, limits: Limits) -> Limits:
    """The limits of one program: where it has its own CPU time, the wall clock stretches with it."""
    if program.cpu_seconds is None:
        return limits
    wall_seconds = limits.wall_seconds * max(1.0, program.cpu_seconds / limits.cpu_seconds)
    return replace(limits, cpu_seconds=program.cpu_seconds, wall_seconds=wall_seconds)


def _verdict(answer: dict[str, Any]) -> Verdict:
    tests = []
    for outcome, *fields in answer["tests"]:
        case, expected, got, message, traceback = fields
        tests.append(
            TestResult(
                outcome=Outcome(outcome), case=case, expected=expected, got=got, message=message, traceback=traceback
            )
        )
    return Verdict(tests=tuple(tests), seconds=answer["seconds"], cpu_seconds=answer["cpu_seconds"])
