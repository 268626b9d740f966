"""A programming task: what the model is asked, and the tests that its program must pass.

It knows neither prompts for a particular model nor how programs are run.
"""

from dataclasses import dataclass

from murphy_jax.sandbox.program import Program


@dataclass(frozen=True, kw_only=True)
class Task:
    """One task of a benchmark or of the repair family.

    Attributes:
        task_id: unique within its benchmark, for example `HumanEval/0`.
        prompt: what the user asks, in plain text; it names the entry point.
        entry_point: name of the function that the tests call.
        tests: statements, run one by one; each is one test and one verdict.
        reference: a program known to be right, where the benchmark has one.
        prelude: trusted source run before the candidate's program (imports, helpers of the prompt).
        setup: trusted source run after the program and before the tests (`import math`, `root = Node(1)`).
        cpu_seconds: CPU time a program may use, when the benchmark needs more than the configured limit.
    """

    task_id: str
    prompt: str
    entry_point: str
    tests: tuple[str, ...]
    reference: str | None = None
    prelude: str = ""
    setup: str = ""
    cpu_seconds: float | None = None

    def program(self, source: str) -> Program:
        """The candidate's `source` together with this task's tests, ready for the sandbox."""
        return Program(
            source=source,
            tests=self.tests,
            entry_point=self.entry_point,
            prelude=self.prelude,
            setup=self.setup,
            cpu_seconds=self.cpu_seconds,
        )
