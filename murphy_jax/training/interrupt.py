"""Ctrl-C and SIGTERM end a run after its current step, so that it is saved; a second Ctrl-C ends it at once."""

import signal
from types import FrameType, TracebackType
from typing import Any


class Interrupt:
    """While entered, records the first SIGINT or SIGTERM instead of dying of it."""

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None
        self._previous: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "Interrupt":
        for number in (signal.SIGINT, signal.SIGTERM):
            self._previous[number] = signal.signal(number, self._record)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    @property
    def exit_code(self) -> int:
        """0 where the run ended by itself or was preempted, 130 after Ctrl-C."""
        return 130 if self.signal is signal.SIGINT else 0

    def _record(self, number: int, _frame: FrameType | None) -> None:
        if self.signal is signal.SIGINT and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.signal = signal.Signals(number)
