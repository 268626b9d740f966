"""The zygote: a small warm interpreter without threads that forks a child for each job and cleans up after it.

Speaks `frames` over one socket. First comes what to isolate, then jobs one at a time; the end of the stream ends
everything. The child's group and whatever else descends from it are killed before a job is answered.
"""

import contextlib
import gc
import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

from . import candidate, cases, frames, isolation, job, library, limits, strays
from .ledger import Ledger, Result
from .watch import OrphanedError, Watch
from .workspace import Workspace


def main(descriptor: int) -> NoReturn:
    """Serve the socket of that descriptor until it is closed, and end the process."""
    control = socket.socket(fileno=descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(EOFError, OSError, OrphanedError):
        _serve(control)
    os._exit(0)


def _serve(control: socket.socket) -> None:
    settings = frames.receive(control)
    folder = Path(settings["folder"])
    library.preload()
    try:
        held = isolation.enter(folder, namespaces=settings["namespaces"])
    except PermissionError as error:
        frames.send(control, {"refused": str(error)})
        return
    zygote = Zygote(control, folder, held)
    _hide()
    gc.collect()
    gc.freeze()  # so that no collection in a child touches, and copies, what the zygote holds
    try:
        frames.send(control, {"isolation": held.held})
        while True:
            frames.send(control, zygote.grade(frames.receive(control)))
    finally:
        zygote.close()
        folder.rmdir()  # never recursively: what is below was removed with its job, and nothing else may go


def _hide() -> None:
    """Let no program import the harness by its name."""
    for name in [name for name in sys.modules if name.split(".")[0] == __name__.split(".")[0]]:
        del sys.modules[name]


class Zygote:
    """Grades one job at a time.

    Args:
        control: the socket to the trainer, watched only for its end while a job runs.
        folder: where programs get their directory.
        held: how this process is isolated.
    """

    def __init__(self, control: socket.socket, folder: Path, held: isolation.Isolation) -> None:
        self._control = control
        self._isolation = held
        self._workspace = Workspace(folder, held.user)
        os.environ.update(HOME=str(self._workspace.path), TMPDIR=str(self._workspace.path))
        self._base_bytes = limits.address_space()
        self._last: job.Job | None = None
        self._woken, wake = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _wake)

    def grade(self, message: dict[str, Any]) -> dict[str, Any]:
        """Run a job and clean up after it.

        Raises:
            OrphanedError: the trainer is gone.
        """
        try:
            self._last = job.parse(message, self._last)
        except Exception as error:
            return {"fault": f"prelude, setup or a test does not compile: {type(error).__name__}: {error}", "tests": []}
        started = time.monotonic()
        ledger, usage = self._run(self._last)
        tests = [
            _with_case(result, statement, self._last.entry_point)
            for result, statement in zip(ledger.results, self._last.statements, strict=False)
        ]
        return {
            "fault": ledger.fault,
            "tests": tests,
            "seconds": time.monotonic() - started,
            "cpu_seconds": usage,
        }

    def close(self) -> None:
        """Remove the programs' directory."""
        self._workspace.close()

    def _run(self, todo: job.Job) -> tuple[Ledger, float]:
        """Fork a child for a job and wait for it; its results and the CPU seconds that it used."""
        token = os.urandom(16).hex()
        ledger = Ledger(token, len(todo.tests))
        results, write_results = os.pipe()
        output, write_output = os.pipe()
        pid = os.fork()
        if pid == 0:
            confinement = limits.Confinement(
                todo.limits, str(self._workspace.path), self._isolation, self._base_bytes, write_results, write_output
            )
            candidate.serve(todo, confinement, token)
        os.close(write_results)
        os.close(write_output)
        try:
            watch = Watch(pid, todo.limits, ledger, results=results, output=output, counted=self._isolation.counted)
            ledger.fill(watch.wait(self._control.fileno(), self._woken))
        finally:
            usage = self._end(pid)
            os.close(results)
            os.close(output)
        return ledger, usage

    def _end(self, pid: int) -> float:
        """Kill and collect the job's processes, empty its directory; the CPU seconds that it used."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        os.kill(pid, signal.SIGKILL)
        _, _, usage = os.wait4(pid, 0)
        strays.reap(self._isolation)
        self._workspace.clean()
        return usage.ru_utime + usage.ru_stime


def _with_case(result: Result, statement: str, entry_point: str) -> Result:
    """A result of a test whose frames are unknown still names its case."""
    if result.case or result.outcome == "passed":
        return result
    return result._replace(case=cases.describe(statement, entry_point))


def _wake(number: int, frame: object) -> None:
    """SIGCHLD only has to wake the poll."""
    del number, frame
