"""From completions to programs."""

import doctest

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from murphy_jax.rollout import extraction
from murphy_jax.rollout.extraction import extract_program

PIECES = ["```", "```python", "```\n", "```python\n", "~~~", "````", "\n", "\r\n", " ", "x = 1", "```text\n", "\t"]


def test_a_fenced_block_is_the_program() -> None:
    assert extract_program("```python\nx = 1\ny = 2\n```") == "x = 1\ny = 2"


def test_prose_around_a_block_is_ignored() -> None:
    assert extract_program("Sure! Here:\n\n```python\nx = 1\n```\n\nThis sets x.") == "x = 1"


@pytest.mark.parametrize("language", ["", "python", "Python", "py", "python3", " python ", "python title='a.py'"])
def test_a_block_may_name_python_or_nothing(language: str) -> None:
    assert extract_program(f"```{language}\nx = 1\n```") == "x = 1"


def test_blocks_in_other_languages_are_passed_over() -> None:
    assert extract_program("```python\nx = 1\n```\nIt prints\n```text\n1\n```\n```bash\nls\n```") == "x = 1"


def test_the_last_of_several_blocks_counts() -> None:
    assert extract_program("```python\nx = 1\n```\nBetter:\n```\nx = 2\n```\n") == "x = 2"


def test_a_block_cut_off_at_the_end_is_taken_to_the_end() -> None:
    assert extract_program("Like this:\n```python\ndef solve(x):\n    return x") == "def solve(x):\n    return x"


def test_a_closed_block_is_preferred_to_one_cut_off() -> None:
    assert extract_program("```python\nx = 1\n```\nOr:\n```python\nx =") == "x = 1"


def test_text_without_a_fence_is_the_program() -> None:
    assert extract_program("x = 1\ny = 2\n") == "x = 1\ny = 2\n"


def test_text_with_foreign_blocks_only_is_taken_whole() -> None:
    text = "```json\n{}\n```\nx = 1"
    assert extract_program(text) == text


def test_line_ends_are_normalised_inside_and_outside_of_fences() -> None:
    assert extract_program("```python\r\nx = 1\r\ny = 2\r\n```\r\n") == "x = 1\ny = 2"
    assert extract_program("x = 1\r\ny = 2\rz = 3") == "x = 1\ny = 2\nz = 3"


def test_a_longer_fence_holds_shorter_ones() -> None:
    assert extract_program('````python\nx = """\n```\n"""\n````') == 'x = """\n```\n"""'


def test_tildes_fence_and_do_not_close_backticks() -> None:
    assert extract_program("~~~python\nx = 1\n~~~") == "x = 1"
    assert extract_program("```python\nx = 1\n~~~\ny = 2\n```") == "x = 1\n~~~\ny = 2"


def test_backticks_inside_a_line_are_no_fence() -> None:
    assert extract_program("```python\nx = '```'\n```") == "x = '```'"
    text = "Use ```x = 1``` here"
    assert extract_program(text) == text


def test_a_block_in_a_list_loses_its_indentation() -> None:
    assert extract_program("1. First\n   ```python\n   if x:\n       y()\n   ```") == "if x:\n    y()"


def test_an_empty_block_is_an_empty_program() -> None:
    assert extract_program("```python\n```") == ""
    assert extract_program("") == ""


def test_the_example_of_the_docstring_holds() -> None:
    result = doctest.testmod(extraction)
    assert (result.failed, result.attempted) == (0, 1)


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=20)), max_size=20).map("".join))
@example("```")
@example("`" * 7 + "\n" + "`" * 6)
@example("\ud800```")
def test_nothing_raises_and_nothing_is_invented(text: str) -> None:
    program = extract_program(text)
    assert "\r" not in program
    assert all(line in text.replace("\r\n", "\n").replace("\r", "\n") for line in program.split("\n"))


@given(
    st.text(st.characters(exclude_characters="`~\r", exclude_categories=["Cs"])), st.text("abc \n"), st.text("abc \n")
)
def test_a_fenced_program_comes_back_whatever_stands_around_it(program: str, before: str, after: str) -> None:
    assert extract_program(f"{before}\n```python\n{program}\n```\n{after}") == program
