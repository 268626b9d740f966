"""The command that trains the quickstart's tokenizer."""

from itertools import islice
from pathlib import Path

import pytest

from murphy_jax.errors import UserError
from murphy_jax.rollout import vocabulary
from murphy_jax.sandbox import Limits, Outcome, Program, Verdict
from murphy_jax.sandbox import TestResult as Result
from murphy_jax.tasks import tokenizer


def test_the_texts_are_the_turns_of_repairs_and_then_of_mbpp() -> None:
    texts = list(vocabulary.texts(num_tasks=5))
    task, attempt, told, solution = texts[:4]
    assert task.startswith("user\nWrite solve(x) for a ")
    assert attempt.startswith("assistant\n```python\ndef solve(x):")
    assert " of 4 tests passed.\nsolve(" in told
    assert solution.startswith("assistant\n```python\ndef solve(x):")
    assert attempt != solution
    assert len(texts) == 4 * 5 + 2 * 374
    assert "Your code should pass these tests:" in texts[20]


def test_no_text_holds_a_special_token() -> None:
    assert not any("<|" in text for text in vocabulary.texts(num_tasks=5))


def test_the_same_texts_come_every_time() -> None:
    assert list(vocabulary.texts(num_tasks=5)) == list(vocabulary.texts(num_tasks=5))


def test_faults_of_the_sandbox_are_not_learned_from(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(programs: list[Program], _: Limits) -> list[Verdict]:
        return [Verdict(tests=(Result(outcome=Outcome.INFRA),)) for _ in programs]

    monkeypatch.setattr(vocabulary, "run", run)
    with pytest.raises(UserError, match="sandbox failed"):
        next(vocabulary.texts(num_tasks=2))


def test_the_command_writes_a_tokenizer_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    some = list(islice(vocabulary.texts(num_tasks=5), 40))
    monkeypatch.setattr(vocabulary, "texts", lambda: some)
    monkeypatch.setattr("sys.argv", ["vocabulary", str(tmp_path), "--vocab-size", "400"])
    vocabulary.main()
    assert len(tokenizer.load(tmp_path)) == 400
