"""Benchmark files: what can be read, and the sentence for each way in which one cannot."""

import gzip
import json
from pathlib import Path

import pytest

from murphy_jax.errors import UserError
from murphy_jax.tasks import rows

LINES = b'{"name": "a"}\n{"name": "b"}\n'


def write(folder: Path, data: bytes, name: str = "rows.jsonl") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    "data",
    [
        LINES,
        gzip.compress(LINES, mtime=0),
        b"\xef\xbb\xbf" + LINES,
        LINES.replace(b"\n", b"\r\n"),
        LINES.replace(b"\n", b"\n\n"),
        LINES.rstrip(),
        json.dumps([{"name": "a"}, {"name": "b"}], indent=1).encode(),
    ],
    ids=["plain", "gzip", "byte order mark", "crlf", "blank lines", "no last line end", "array"],
)
def test_plain_and_gzipped_lines_and_arrays_are_read(tmp_path: Path, data: bytes) -> None:
    assert [row.text("name") for row in rows.read(write(tmp_path, data))] == ["a", "b"]


def test_a_line_separator_inside_a_text_ends_no_row(tmp_path: Path) -> None:
    (row,) = rows.read(write(tmp_path, '{"name": "a\u2028b"}\n'.encode()))
    assert row.text("name") == "a\u2028b"


def test_line_ends_of_texts_are_normalised(tmp_path: Path) -> None:
    (row,) = rows.read(write(tmp_path, rb'{"name": "a\r\nb\rc", "names": ["a\r\n"]}'))
    assert (row.text("name"), row.texts("names")) == ("a\nb\nc", ("a\n",))


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "{path} has no rows. Give a file with at least one."),
        (b"\n \n", "{path} has no rows."),
        (b"[]", "{path} has no rows."),
        (gzip.compress(b"", mtime=0), "{path} has no rows."),
        (LINES + b'{"name": \n', "{path}, line 3: not valid JSON ("),
        (LINES + b'{"name": "a"} {}\n', "{path}, line 3: not valid JSON ("),
        (b'\n\n{"name"}', "{path}, line 3: not valid JSON ("),
        (b'[{"name": "a"}', "{path}: not valid JSON ("),
        (b'[{"name": "a"}, 3]', "{path}, row 2: a row must be a JSON object, not the number 3."),
        (LINES + b'"a"', "{path}, line 3: a row must be a JSON object, not text."),
        (b"null\n", "{path}, line 1: a row must be a JSON object, not null."),
        (LINES + b'{"name": "\xff"}', "{path}, line 3: not UTF-8 text."),
        (LINES.decode().encode("utf-16"), "{path}, line 1: not UTF-8 text."),
        (gzip.compress(LINES * 99, mtime=0)[:-9], "{path} is damaged: "),
        (gzip.compress(LINES, mtime=0)[:4], "{path} is damaged: "),
        (gzip.compress(LINES, mtime=0)[:-5] + b"\0\0\0\0\0", "{path} is damaged: "),
        (gzip.compress(LINES, mtime=0) + b"tail", "{path} is damaged: "),
        (b'{"name": ' + b"[" * 10**5, "{path}, line 1: not valid JSON ("),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_its_place(tmp_path: Path, data: bytes, problem: str) -> None:
    path = write(tmp_path, data)
    with pytest.raises(UserError) as caught:
        rows.read(path)
    message = str(caught.value)
    assert message.startswith(problem.format(path=path))
    assert message.endswith(".")
    assert "\n" not in message


def test_a_missing_file_is_named_with_the_nearest_name(tmp_path: Path) -> None:
    near = write(tmp_path, LINES, "HumanEval.jsonl.gz")
    with pytest.raises(UserError) as caught:
        rows.read(tmp_path / "HumanEval.jsonl")
    assert str(caught.value) == f"There is no file {tmp_path / 'HumanEval.jsonl'}. Did you mean {near}?"


def test_a_missing_file_without_a_near_name_is_just_named(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        rows.read(tmp_path / "rows.jsonl")
    assert str(caught.value) == f"There is no file {tmp_path / 'rows.jsonl'}."


def test_a_missing_folder_is_named_too(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"There is no folder .*nowhere either"):
        rows.read(tmp_path / "nowhere" / "rows.jsonl")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"Cannot read .*: Is a directory"):
        rows.read(tmp_path)


def test_a_misspelt_field_is_shown_beside_the_missing_one(tmp_path: Path) -> None:
    (row,) = rows.read(write(tmp_path, b'{"entry_pont": "f"}'))
    with pytest.raises(UserError, match="line 1: field 'entry_point' is missing; there is 'entry_pont'"):
        row.text("entry_point")


def test_source_is_parsed_without_a_warning_about_its_escapes(tmp_path: Path) -> None:
    (row,) = rows.read(write(tmp_path, LINES[:14]))
    assert row.parse("name", "pattern = '\\w'").body
