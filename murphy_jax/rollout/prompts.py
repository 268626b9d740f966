"""Contexts: a task and its past attempts as a chat, and as token ids that fit.

    user        the task, and how to answer
    assistant   an attempt                               )
    user        its feedback, and to correct the program )  once for every attempt shown

The budget rule: a context that is too long first loses the middle of its feedback, then the middle of its attempts; a
task is never cut. What a program wrote cannot end its turn: the tokenizer's special tokens are broken up in it.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from murphy_jax.errors import UserError
from murphy_jax.rollout.feedback import describe as feedback
from murphy_jax.rollout.feedback import escape_control, shorten
from murphy_jax.tasks.task import Task

Message = dict[str, str]

ANSWER = "Answer with one ```python block."
CORRECT = "Correct the program."

__all__ = ["Message", "check_fits", "feedback", "messages", "render"]


def messages(task: Task, attempts: Sequence[tuple[str, str]]) -> list[Message]:
    """The chat that asks for a program: of a task alone, or after attempts, each a (completion, feedback)."""
    chat = [_message("user", f"{task.prompt}\n{ANSWER}")]
    for completion, told in attempts:
        chat += [_message("assistant", completion), _message("user", f"{told}\n{CORRECT}")]
    return chat


def render(tokenizer: Any, task: Task, attempts: Sequence[tuple[str, str]], *, max_tokens: int) -> list[int]:
    """Token ids of the next context, at most `max_tokens`, up to and with the start of the assistant's turn.

    Args:
        tokenizer: an HF tokenizer with a chat template.
        task: what is to be solved.
        attempts: (completion, feedback) of the attempts to show, oldest first.
        max_tokens: the budget.

    Raises:
        UserError: the task does not fit even with nothing of its attempts shown.
    """
    breaker = _special_tokens(tokenizer)
    attempts = [(_neutralise(completion, breaker), _neutralise(told, breaker)) for completion, told in attempts]

    def encode(completion_limit: int, feedback_limit: int) -> list[int]:
        shown = [(shorten(text, completion_limit), shorten(told, feedback_limit)) for text, told in attempts]
        return _encode(tokenizer, messages(task, shown))

    longest_completion = max((len(completion) for completion, _ in attempts), default=0)
    longest_feedback = max((len(told) for _, told in attempts), default=0)
    ids = encode(longest_completion, longest_feedback)
    if len(ids) <= max_tokens:
        return ids
    if len(encode(longest_completion, 0)) <= max_tokens:
        return _longest(lambda limit: encode(longest_completion, limit), longest_feedback, max_tokens)
    least = len(encode(0, 0))
    if least <= max_tokens:
        return _longest(lambda limit: encode(limit, 0), longest_completion, max_tokens)
    raise UserError(
        f"Task {task.task_id} needs a context of {least} tokens{' with room for a repair' * bool(attempts)}, "
        f"but rollout.max_context_tokens is {max_tokens}. Raise it to at least {least}."
    )


def check_fits(tokenizer: Any, tasks: Sequence[Task], *, num_attempts: int, max_tokens: int) -> None:
    """Refuse, before a run starts, tasks that would not fit with `num_attempts` attempts shown.

    Raises:
        UserError: the longest of them does not fit.
    """
    for task in sorted(tasks, key=lambda task: len(task.prompt), reverse=True):
        render(tokenizer, task, [("", "")] * num_attempts, max_tokens=max_tokens)


def _message(role: str, content: str) -> Message:
    return {"role": role, "content": content}


def _encode(tokenizer: Any, chat: list[Message]) -> list[int]:
    """Token ids of a chat; thinking is switched off where a template knows it, for its length has no bound."""
    text = tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False, enable_thinking=False)
    return list(tokenizer.backend_tokenizer.encode(text, add_special_tokens=False).ids)


def _longest(encode: Callable[[int], list[int]], limit: int, max_tokens: int) -> list[int]:
    """The encoding with the most characters that fits; 0 characters are known to fit, `limit` not to."""
    fits, ids = 0, encode(0)
    while limit - fits > 1:
        middle = (fits + limit) // 2
        trial = encode(middle)
        if len(trial) <= max_tokens:
            fits, ids = middle, trial
        else:
            limit = middle
    return ids


def _special_tokens(tokenizer: Any) -> re.Pattern[str]:
    """Matches the tokenizer's special tokens and tags, and the role tags that some templates spell as plain text."""
    added = tokenizer.added_tokens_decoder.values()
    tokens = {token.content.strip() for token in added if token.special or token.content.startswith(("<", "["))}
    longest_first = sorted(filter(None, tokens), key=lambda token: (-len(token), token))
    return re.compile("|".join([r"<\|[^|<>\s]*\|>", *map(re.escape, longest_first)]))


def _neutralise(text: str, special: re.Pattern[str]) -> str:
    """`text` with control characters escaped and special tokens broken by a space after their first character."""
    return special.sub(lambda match: f"{match[0][0]} {match[0][1:]}", escape_control(text))
