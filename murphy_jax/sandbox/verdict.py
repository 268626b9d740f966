"""What the sandbox answers: one outcome a test, with what a programmer needs to repair the program."""

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """How one test ended."""

    PASSED = "passed"
    WRONG = "wrong"  # an assertion failed
    ERROR = "error"  # any other exception, or the program does not compile
    TIMEOUT = "timeout"
    KILLED = "killed"  # memory, output, file or process limit, or the process died
    INFRA = "infra"  # the grader's own fault: never the program's failure, never a pass


@dataclass(frozen=True, kw_only=True)
class TestResult:
    """One test's outcome.

    Attributes:
        case: the call under test as source, `solve([3, 1, 2])`; the statement itself where there is no single call.
        expected: `repr` of what the test wanted, empty where unknown.
        got: `repr` of what the program gave, empty where unknown.
        message: `ValueError: bad input`, `timed out after 3 s of CPU`, ...
        traceback: last lines of the traceback, the program's own frames only, no path of the host.
    """

    outcome: Outcome
    case: str = ""
    expected: str = ""
    got: str = ""
    message: str = ""
    traceback: str = ""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """All tests of one program.

    Attributes:
        tests: one result a test, in the order of `Program.tests`.
        seconds: elapsed time.
        cpu_seconds: CPU time used.
    """

    tests: tuple[TestResult, ...]
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    @property
    def num_passed(self) -> int:
        """How many tests passed."""
        return sum(test.outcome is Outcome.PASSED for test in self.tests)

    @property
    def fraction(self) -> float:
        """Share of tests passed, in [0, 1]: the reward."""
        return self.num_passed / max(1, len(self.tests))

    @property
    def outcome(self) -> Outcome:
        """The first outcome that is not a pass, or PASSED."""
        return next((test.outcome for test in self.tests if test.outcome is not Outcome.PASSED), Outcome.PASSED)
