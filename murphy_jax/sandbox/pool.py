"""Several zygotes at work: programs go in, futures of verdicts come out."""

import os
import queue
import sys
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType

from .program import Limits, Program
from .verdict import Verdict
from .worker import Worker


class Sandbox:
    """Runs programs in parallel, each in a process of its own. A context manager; safe to use from several threads.

    Args:
        limits: what each program may use.
        workers: how many programs run at a time, by default one a usable CPU core.
        namespaces: whether to use kernel namespaces where they can be had.
    """

    def __init__(self, limits: Limits, *, workers: int | None = None, namespaces: bool = True) -> None:
        self.num_workers = workers or num_cores()
        self._workers = [Worker(limits, namespaces=namespaces) for _ in range(self.num_workers)]
        self._idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        self._threads = ThreadPoolExecutor(self.num_workers, thread_name_prefix="sandbox")
        for worker in self._workers:
            worker.start()
            self._idle.put(worker)

    def submit(self, program: Program) -> Future[Verdict]:
        """Queue a program; returns at once.

        Raises:
            RuntimeError: the sandbox is closed.
        """
        return self._threads.submit(self._grade, program)

    def run(self, programs: Sequence[Program]) -> list[Verdict]:
        """Verdicts of programs, in order."""
        return [future.result() for future in [self.submit(program) for program in programs]]

    def isolation(self) -> tuple[str, ...]:
        """What the kernel holds back from programs here, by name: see `harness.isolation`."""
        worker = self._idle.get()
        try:
            return worker.isolation()
        finally:
            self._idle.put(worker)

    def close(self) -> None:
        """End everything: queued programs are cancelled, running ones get INFRA. Closing twice is harmless."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in self._workers:
            worker.interrupt()
        self._threads.shutdown(wait=True)
        for worker in self._workers:
            worker.stop()

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _grade(self, program: Program) -> Verdict:
        worker = self._idle.get()
        try:
            return worker.grade(program)
        finally:
            self._idle.put(worker)


def run(programs: Sequence[Program], limits: Limits) -> list[Verdict]:
    """Verdicts of programs, in order, from a sandbox made for this call."""
    with Sandbox(limits, workers=max(1, min(num_cores(), len(programs)))) as sandbox:
        return sandbox.run(programs)


def num_cores() -> int:
    """How many CPU cores this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
