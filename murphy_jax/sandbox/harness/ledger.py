"""The results of one job: lines that the child writes to a private pipe, and the zygote's record of them.

    token kind index field field ...        fields as hexadecimal UTF-8, so no text can break a line

`test` is one test's result, `rest` the same result for all that are left, `fault` the harness's own failure. A line
without this job's token, or not of the next test in order, is ignored. Not JSON: the child shares its modules with the
program, which may have patched the encoder.
"""

from collections.abc import Sequence
from typing import NamedTuple

OUTCOMES = ("passed", "wrong", "error", "timeout", "killed")
MAX_LINE = 2**16


class Result(NamedTuple):
    """`TestResult` in the words of the harness."""

    outcome: str
    case: str = ""
    expected: str = ""
    got: str = ""
    message: str = ""
    traceback: str = ""


def line(token: str, kind: str, index: int, result: Result) -> bytes:
    """One result as the child writes it."""
    fields = [field.encode("utf-8", "replace").hex() for field in result]
    return " ".join([token, kind, str(index), *fields]).encode() + b"\n"


class Ledger:
    """What is known of a job's tests."""

    def __init__(self, token: str, num_tests: int) -> None:
        self.results: list[Result] = []
        self.fault = ""
        self.num_ignored_bytes = 0
        self._token = token
        self._num_tests = num_tests
        self._buffer = b""

    @property
    def done(self) -> bool:
        """Whether nothing more is awaited."""
        return bool(self.fault) or len(self.results) >= self._num_tests

    def feed(self, data: bytes) -> None:
        """Take what was read from the pipe."""
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        if len(self._buffer) > MAX_LINE:
            self.num_ignored_bytes += len(self._buffer)
            self._buffer = b""
        for text in lines:
            if not self._accept(text):
                self.num_ignored_bytes += len(text) + 1

    def fill(self, result: Result) -> None:
        """Give all that are left the same result."""
        self.results += [result] * (self._num_tests - len(self.results))

    def _accept(self, text: bytes) -> bool:
        try:
            token, kind, index, *fields = text.decode("ascii").split(" ")
            result = _result(fields)
        except ValueError:
            return False
        if self.done or token != self._token:
            return False
        if kind == "fault":
            self.fault = result.message
        elif index != str(len(self.results)) or result.outcome not in OUTCOMES:
            return False
        elif kind == "rest" and result.outcome != "passed":
            self.fill(result)
        elif kind == "test":
            self.results.append(result)
        return True


def _result(fields: Sequence[str]) -> Result:
    """The fields of a line.

    Raises:
        ValueError: too few or too many, or not hexadecimal UTF-8.
    """
    if len(fields) != len(Result._fields):
        raise ValueError("a result has six fields")
    return Result(*(bytes.fromhex(field).decode() for field in fields))
