"""Train the quickstart's tokenizer on what its model reads and writes.

    python -m murphy_jax.rollout.vocabulary FOLDER --vocab-size 1024

The texts: contexts and solutions of repair tasks, alone and after a wrong attempt with its real feedback, and MBPP's
train problems, so that those do not fall apart into bytes. The same arguments give the same files.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from murphy_jax.errors import UserError
from murphy_jax.rollout import prompts
from murphy_jax.sandbox import Limits, Outcome, run
from murphy_jax.tasks import mbpp, repair, tokenizer

NUM_REPAIR_TASKS = 2000
FEEDBACK_CHARACTERS = 1500


def texts(*, num_tasks: int = NUM_REPAIR_TASKS, seed: int = 0) -> Iterator[str]:
    """The training texts: turns, each its role and its content, without the special tokens around them."""
    examples = repair.generate(count=num_tasks, seed=seed, split="train")
    attempts = [others[index % len(others)] for index, others in enumerate(map(repair.alternatives, examples))]
    verdicts = run([e.task.program(source) for e, source in zip(examples, attempts, strict=True)], Limits())
    if any(verdict.outcome is Outcome.INFRA for verdict in verdicts):
        raise UserError("The sandbox failed by its own fault, so there is no feedback to learn from. Try again.")
    for example, attempt, verdict in zip(examples, attempts, verdicts, strict=True):
        told = prompts.feedback(verdict, max_characters=FEEDBACK_CHARACTERS)
        chat = prompts.messages(example.task, [(fenced(attempt), told)])
        chat.append({"role": "assistant", "content": fenced(example.task.reference or "")})
        yield from map(_turn, chat)
    for task in mbpp.load(None, split="train"):
        chat = prompts.messages(task, ())
        chat.append({"role": "assistant", "content": fenced(task.reference or "")})
        yield from map(_turn, chat)


def fenced(source: str) -> str:
    """A program as an answer shows it."""
    return f"```python\n{source}\n```"


def _turn(message: prompts.Message) -> str:
    return f"{message['role']}\n{message['content']}"


def main() -> None:
    """Train the tokenizer that the command line asks for."""
    parser = argparse.ArgumentParser(description="Train the quickstart's tokenizer.")
    parser.add_argument("folder", type=Path, help="where to write the HF tokenizer folder")
    parser.add_argument("--vocab-size", type=int, default=1024)
    arguments = parser.parse_args()
    tokenizer.train(texts(), arguments.folder, vocab_size=arguments.vocab_size)


if __name__ == "__main__":
    main()
