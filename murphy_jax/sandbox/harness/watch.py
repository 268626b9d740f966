"""One running child, watched from outside: its pipes are read, and what it uses is held against its limits."""

import contextlib
import os
import select
import signal
import time
from typing import Any

from . import strays
from .ledger import Ledger, Result

GRACE_SECONDS = 0.25
MIN_WAIT_SECONDS = 0.005
COUNT_SECONDS = 0.1
READ_BYTES = 2**16


class OrphanedError(Exception):
    """The trainer is gone."""


class Watch:
    """Reads a child's results and decides when it must end.

    Args:
        pid: the child.
        limits: the fields of `Limits`.
        ledger: takes the results.
        results: the pipe that they come from.
        output: the pipe that the program prints to.
        counted: whether the kernel holds the number of its processes, so that it need not be looked at here.
    """

    def __init__(
        self, pid: int, limits: dict[str, Any], ledger: Ledger, *, results: int, output: int, counted: bool
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
        """Wait for the end; what the tests that have no result are to get.

        Args:
            control: the socket to the trainer, which says nothing while a job runs.
            woken: readable once a child may have ended.

        Raises:
            OrphanedError: the trainer hung up.
        """
        poll = select.poll()
        for descriptor in (self._results, self._output, woken, control):
            poll.register(descriptor, select.POLLIN)
        while True:
            for descriptor, _ in poll.poll(self._patience() * 1000):
                if descriptor == control:
                    raise OrphanedError
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
        """Seconds until a limit may be reached. Several threads use CPU time faster than the clock runs."""
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
