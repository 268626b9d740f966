"""The executor: runs untrusted programs against tests."""

from .pool import Sandbox, run
from .program import Limits, Program
from .verdict import Outcome, TestResult, Verdict

__all__ = ["Limits", "Outcome", "Program", "Sandbox", "TestResult", "Verdict", "run"]
