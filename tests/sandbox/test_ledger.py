"""Results on their way through the pipe: whatever a program writes there, only whole lines in order count."""

from hypothesis import given
from hypothesis import strategies as st

from murphy_jax.sandbox.harness.ledger import MAX_LINE, Ledger, Result, line

TOKEN = "0123abcd"
PASSED, WRONG = Result("passed"), Result("wrong", "f(1)", "2", "3", "AssertionError: \n\x00", "")


def test_results_are_kept_in_order() -> None:
    ledger = Ledger(TOKEN, 3)

    ledger.feed(line(TOKEN, "test", 0, PASSED) + line(TOKEN, "test", 1, WRONG))
    assert not ledger.done
    ledger.feed(line(TOKEN, "rest", 2, Result("timeout")))

    assert ledger.results == [PASSED, WRONG, Result("timeout")]
    assert ledger.done


def test_a_result_out_of_order_or_under_another_token_is_ignored() -> None:
    ledger = Ledger(TOKEN, 2)

    ledger.feed(line(TOKEN, "test", 1, PASSED) + line("other", "test", 0, PASSED) + line(TOKEN, "test", 0, WRONG))

    assert ledger.results == [WRONG]
    assert ledger.num_ignored_bytes > 0


def test_one_line_cannot_pass_several_tests() -> None:
    ledger = Ledger(TOKEN, 3)

    ledger.feed(line(TOKEN, "rest", 0, PASSED))

    assert ledger.results == []


def test_the_harnesses_own_fault_ends_the_job() -> None:
    ledger = Ledger(TOKEN, 3)

    ledger.feed(line(TOKEN, "fault", 0, Result("infra", message="no memory")))

    assert (ledger.done, ledger.fault) == (True, "no memory")


@given(st.lists(st.binary(max_size=80), max_size=20))
def test_noise_gives_no_result_and_is_counted(chunks: list[bytes]) -> None:
    ledger = Ledger(TOKEN, 2)

    for chunk in chunks:
        ledger.feed(chunk)

    assert ledger.results == []
    assert ledger.num_ignored_bytes <= sum(map(len, chunks))


@given(st.text(), st.integers(1, 50))
def test_any_text_survives_in_pieces_of_any_size(text: str, size: int) -> None:
    ledger = Ledger(TOKEN, 1)
    sent = line(TOKEN, "test", 0, Result("error", text, text, text, text, text))

    for start in range(0, len(sent), size):
        ledger.feed(sent[start : start + size])

    assert ledger.results == [Result("error", text, text, text, text, text)]


def test_an_endless_line_takes_no_memory() -> None:
    ledger = Ledger(TOKEN, 1)

    for _ in range(10):
        ledger.feed(b"x" * MAX_LINE)

    assert ledger.num_ignored_bytes >= 9 * MAX_LINE
