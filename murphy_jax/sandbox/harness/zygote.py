"""The zygote: a small warm interpreter without threads that forks a child for each job, watches it, and cleans up after it.

Speaks `frames` over one socket. First comes what to isolate, then jobs one at a time; the end of the stream ends everything.
Wall clock, CPU time and output are watched from here; the child's group and whatever else descends from it are killed before a
job is answered.
"""

import contextlib
import gc
import importlib
import os
import select
import shutil
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

from . import candidate, cases, frames, isolation, strays
from .ledger import Ledger, Result

PRELOADED = (
    "abc array base64 bisect calendar cmath collections contextlib copy csv dataclasses datetime decimal enum fractions functools "
    "hashlib heapq inspect io itertools json keyword math numbers operator pathlib pprint queue random re statistics string struct "
    "tempfile textwrap threading time timeit traceback types typing unicodedata unittest warnings zlib"
)
GRACE_SECONDS = 0.25
MIN_WAIT_SECONDS = 0.005
COUNT_SECONDS = 0.1
READ_BYTES = 2**16


class Orphaned(Exception):
    """The trainer is gone."""


def main(descriptor: int) -> NoReturn:
    """Serve the socket of that descriptor until it is closed, and end the process."""
    control = socket.socket(fileno=descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    settings = frames.receive(control)
    folder = Path(settings["folder"])
    held = isolation.enter(folder, namespaces=settings["namespaces"], user=settings["user"])
    for name in PRELOADED.split():
        importlib.import_module(name)
    zygote = Zygote(control, folder, held)
    gc.collect()
    gc.freeze()
    gc.disable()
    with contextlib.suppress(EOFError, OSError, Orphaned):
        frames.send(control, {"isolation": held.held})
        while True:
            frames.send(control, zygote.grade(frames.receive(control)))
    with contextlib.suppress(OSError):
        folder.rmdir()  # never recursively: what is below was removed with its job, and nothing else may go
    os._exit(0)


class Zygote:
    """Grades one job at a time.

    Args:
        control: the socket to the trainer, watched only for its end while a job runs.
        folder: where each job gets its directory.
        held: how this process is isolated.
    """

    def __init__(self, control: socket.socket, folder: Path, held: isolation.Isolation) -> None:
        self._control = control
        self._folder = folder / "run"
        self._isolation = held
        self._woken, wake = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _ignore)

    def grade(self, job: dict[str, Any]) -> dict[str, Any]:
        """Run a job and clean up after it.

        Raises:
            Orphaned: the trainer is gone.
        """
        self._make_folder()
        token = os.urandom(16).hex()
        ledger = Ledger(token, len(job["tests"]))
        results, write_results = os.pipe()
        output, write_output = os.pipe()
        started = time.monotonic()
        pid = os.fork()
        if pid == 0:
            candidate.serve(job, self._folder, self._isolation, token, write_results, write_output)
        os.close(write_results)
        os.close(write_output)
        try:
            watch = Watch(pid, job["limits"], ledger, results, output, counted=self._isolation.counted)
            ending = watch.wait(self._control.fileno(), self._woken)
        finally:
            usage = self._end(pid)
            os.close(results)
            os.close(output)
        ledger.fill(ending)
        tests = [_with_case(result, test, job["entry_point"]) for result, test in zip(ledger.results, job["tests"], strict=False)]
        return {
            "fault": ledger.fault,
            "tests": tests,
            "seconds": time.monotonic() - started,
            "cpu_seconds": usage,
        }

    def _make_folder(self) -> None:
        self._folder.mkdir(mode=0o700)
        if self._isolation.user is not None:
            os.chown(self._folder, self._isolation.user, self._isolation.user)

    def _end(self, pid: int) -> float:
        """Kill and collect the job's processes, remove its directory; the CPU seconds that it used."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        os.kill(pid, signal.SIGKILL)
        _, _, usage = os.wait4(pid, 0)
        strays.reap(self._isolation)
        _remove(self._folder)
        return usage.ru_utime + usage.ru_stime


class Watch:
    """One running child: reads its pipes and decides when it must end."""

    def __init__(
        self, pid: int, limits: dict[str, Any], ledger: Ledger, results: int, output: int, *, counted: bool
    ) -> None:
        self._pid = pid
        self._limits = limits
        self._ledger = ledger
        self._results = results
        self._output = output
        self._counted = counted
        self._started = time.monotonic()
        self._num_output_bytes = 0

    def wait(self, control: int, woken: int) -> Result:
        """Wait for the end; what the tests that have no result are to get."""
        poll = select.poll()
        for descriptor in (self._results, self._output, woken, control):
            poll.register(descriptor, select.POLLIN)
        while True:
            for descriptor, _ in poll.poll(self._patience() * 1000):
                if descriptor == control:
                    raise Orphaned
                data = os.read(descriptor, READ_BYTES)
                if not data:
                    poll.unregister(descriptor)
                elif descriptor == self._results:
                    self._ledger.feed(data)
                elif descriptor == self._output:
                    self._num_output_bytes += len(data)
            ending = self._ending()
            if ending is not None:
                return ending

    def _ending(self) -> Result | None:
        limits = self._limits
        if self._ledger.done:
            return Result("infra")
        if self._num_output_bytes + self._ledger.num_ignored_bytes > limits["output_bytes"]:
            return Result("killed", message=f"killed: output limit of {limits['output_bytes'] / 2**20:g} MiB")
        status = os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if status is not None:
            self._drain()
            return self._death(status)
        if self._cpu_seconds() > limits["cpu_seconds"] + GRACE_SECONDS:
            return _out_of_cpu(limits)
        if self._seconds() > limits["wall_seconds"]:
            return Result("timeout", message=f"timed out after {limits['wall_seconds']:g} s")
        if not self._counted and self._seconds() > COUNT_SECONDS and strays.count() > limits["processes"]:
            return Result("killed", message=f"killed: limit of {limits['processes']} processes")
        return None

    def _patience(self) -> float:
        """Seconds until a limit may have been reached. CPU time may pass faster than the clock, with several threads."""
        cpu = (self._limits["cpu_seconds"] + GRACE_SECONDS - self._cpu_seconds()) / 2
        wall = self._limits["wall_seconds"] - self._seconds()
        return max(MIN_WAIT_SECONDS, min(cpu, wall, *([] if self._counted else [COUNT_SECONDS])))

    def _seconds(self) -> float:
        return time.monotonic() - self._started

    def _cpu_seconds(self) -> float:
        """CPU time of the child with its threads, without processes that it started: those have the same limit each."""
        with contextlib.suppress(OSError):
            return time.clock_gettime(_clock_of(self._pid))
        return 0.0

    def _drain(self) -> None:
        os.set_blocking(self._results, False)
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._results, READ_BYTES):
                self._ledger.feed(data)

    def _death(self, status: os.waitid_result) -> Result:
        if status.si_code == os.CLD_EXITED:
            return Result("killed", message=f"the process ended early, with exit code {status.si_status}")
        if status.si_status in (signal.SIGXCPU, signal.SIGPROF):
            return _out_of_cpu(self._limits)
        if status.si_status == signal.SIGXFSZ:
            return Result("killed", message=f"killed: file limit of {self._limits['file_bytes'] / 2**20:g} MiB")
        return Result("killed", message=f"the process died of {_signal_name(status.si_status)}")


def _out_of_cpu(limits: dict[str, Any]) -> Result:
    return Result("timeout", message=f"timed out after {limits['cpu_seconds']:g} s of CPU")


def _clock_of(pid: int) -> int:
    """The number that Linux gives to the CPU clock of a process."""
    return (~pid << 3) | 2


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _with_case(result: Result, test: str, entry_point: str) -> Result:
    """A result of a test whose frames are unknown still names its case."""
    return result if result.case or result.outcome == "passed" else result._replace(case=cases.describe(test, entry_point))


def _remove(folder: Path) -> None:
    """Remove a job's directory, also one whose permissions the program took away. Follows no link and crosses no mount."""
    try:
        folder.rmdir()
        return
    except OSError:
        if folder.is_symlink():
            folder.unlink()
            return
    device = folder.lstat().st_dev
    for parent, names, _, descriptor in os.fwalk(folder, follow_symlinks=False):
        os.fchmod(descriptor, 0o700)
        if any(os.lstat(Path(parent, name)).st_dev != device for name in names):
            raise RuntimeError("something is mounted in a job's directory; it is left as it is")
    shutil.rmtree(folder, ignore_errors=True)


def _ignore(number: int, frame: object) -> None:  # noqa: ARG001
    """SIGCHLD only has to wake the poll."""
