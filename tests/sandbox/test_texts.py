"""Values and messages as short, printable text."""

import doctest

from hypothesis import given
from hypothesis import strategies as st

from murphy_jax.sandbox.harness import texts


def test_the_examples_in_the_docstrings_hold() -> None:
    assert doctest.testmod(texts) == (0, 2)


@given(st.text(), st.integers(1, 50))
def test_shortened_text_keeps_both_ends_and_says_how_much_is_gone(text: str, limit: int) -> None:
    short = texts.shorten(text, limit)

    if len(text) <= limit:
        assert short == text
    else:
        head, count, tail = (
            short[: -(-limit * 2 // 3)],
            len(text) - limit,
            text[len(text) - limit + -(-limit * 2 // 3) :],
        )
        assert short == f"{head} ... {count} characters ... {tail}"
        assert text.startswith(head)


@given(st.text(st.characters(codec=None)))
def test_printable_text_has_no_control_character_and_can_be_encoded(text: str) -> None:
    shown = texts.printable(text)

    assert all(character.isprintable() or character == "\n" for character in shown)
    assert shown.encode().decode() == shown
    assert texts.printable(shown) == shown
