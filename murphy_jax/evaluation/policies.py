"""Policies without a model, which go the same way as one and so show that prompts and sandbox are right."""

from collections.abc import Iterator, Sequence

from murphy_jax.errors import UserError
from murphy_jax.rollout.grow import Proposal, Request


class ReferencePolicy:
    """Answers with the task's reference solution in a fenced block."""

    def propose(self, requests: Sequence[Request]) -> Iterator[tuple[int, Proposal]]:
        """Yield every request's reference.

        Raises:
            UserError: a task has no reference solution.
        """
        for index, request in enumerate(requests):
            if request.task.reference is None:
                raise UserError(f"Task {request.task.task_id} has no reference solution. Evaluate another policy.")
            completion = f"```python\n{request.task.reference}\n```"
            yield index, Proposal(completions=(completion,) * len(request.nodes))


class EmptyPolicy:
    """Answers with nothing; whatever it solves is a fault of the tests."""

    def propose(self, requests: Sequence[Request]) -> Iterator[tuple[int, Proposal]]:
        """Yield an empty completion for every member."""
        for index, request in enumerate(requests):
            yield index, Proposal(completions=("",) * len(request.nodes))
