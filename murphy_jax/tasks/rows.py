"""Rows of a benchmark file: JSON Lines or one JSON array, plain or gzipped, checked field by field.

Every error names the file, the row's line (or its number in an array) and the field. Knows no benchmark.
"""

import ast
import difflib
import gzip
import json
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from murphy_jax.errors import UserError

_GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row; every method raises a UserError about its field where the field is not as asked.

    Attributes:
        place: file and line, for messages.
        fields: what the row holds.
    """

    place: str
    fields: dict[str, Any]

    def text(self, name: str) -> str:
        r"""A field that must be text, with line ends as `\n`."""
        return self._text(name, self._get(name, str, "text"))

    def texts(self, name: str) -> tuple[str, ...]:
        """A field that must be a list of texts."""
        values = self._get(name, list, "a list of texts")
        for value in values:
            if not isinstance(value, str):
                raise self.error(name, f"must be a list of texts, but holds {_kind(value)}")
        return tuple(self._text(name, value) for value in values)

    def integer(self, name: str) -> int:
        """A field that must be an integer."""
        value = self._get(name, int, "an integer")
        if isinstance(value, bool):
            raise self.error(name, f"must be an integer, not {_kind(value)}")
        return int(value)

    def parse(self, name: str, source: str) -> ast.Module:
        """The syntax tree of Python source that the field holds."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # MBPP has patterns such as '\\w' in plain strings
                return ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise self.error(name, f"must be Python, but does not parse ({_first_line(error)})") from None

    def error(self, name: str, problem: str) -> UserError:
        """An error to raise about a field."""
        return UserError(f"{self.place}: field {name!r} {problem}.")

    def _get(self, name: str, kind: type, wanted: str) -> Any:
        if name not in self.fields:
            near = difflib.get_close_matches(name, self.fields, n=1)
            raise self.error(name, "is missing" + (f"; there is {near[0]!r}" if near else ""))
        value = self.fields[name]
        if not isinstance(value, kind):
            raise self.error(name, f"must be {wanted}, not {_kind(value)}")
        return value

    def _text(self, name: str, value: str) -> str:
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise self.error(name, "holds half of a surrogate pair, which is no character")
        return value.replace("\r\n", "\n").replace("\r", "\n")


def asset(benchmark: str, name: str) -> Path:
    """The path of a benchmark file that ships with the package."""
    return Path(str(files("murphy_jax"))) / "assets" / benchmark / name


def read(path: Path) -> tuple[Row, ...]:
    """The rows of a file, at least one; blank lines are skipped.

    Raises:
        UserError: it cannot be read, is empty, or does not hold JSON objects.
    """
    text = _read_text(path)
    if text.lstrip().startswith("["):
        values = _parse(text, str(path))
        rows = [_row(value, f"{path}, row {number}") for number, value in enumerate(values, 1)]
    else:
        places = [(f"{path}, line {number}", line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        rows = [_row(_parse(line, place), place) for place, line in places]
    if not rows:
        raise UserError(f"{path} has no rows. Give a file with at least one.")
    return tuple(rows)


def check_unique(rows: Sequence[Row], name: str) -> None:
    """Refuse rows that share the value of a field that has been read before.

    Raises:
        UserError: two do.
    """
    seen: dict[Any, str] = {}
    for row in rows:
        value = row.fields[name]
        if value in seen:
            raise row.error(name, f"is {value!r} again, as in {seen[value]}")
        seen[value] = row.place


def _read_text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise UserError(f"There is no file {path}.{_near_name(path)}") from None
    except OSError as error:
        raise UserError(f"Cannot read {path}: {error.strerror}. Give a JSON Lines file, plain or gzipped.") from None
    try:
        data = gzip.decompress(data) if data.startswith(_GZIP_MAGIC) else data
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UserError(f"{path} is damaged: {_first_line(error)}. Copy or download it again.") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}, line {line}: not UTF-8 text. Give a JSON Lines file, plain or gzipped.") from None


def _near_name(path: Path) -> str:
    try:
        near = difflib.get_close_matches(path.name, [entry.name for entry in path.parent.iterdir()], n=1)
    except OSError:
        return f" There is no folder {path.parent} either."
    return f" Did you mean {path.parent / near[0]}?" if near else ""


def _parse(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{place}: not valid JSON ({_first_line(error)}).") from None


def _row(value: Any, place: str) -> Row:
    if not isinstance(value, dict):
        raise UserError(f"{place}: a row must be a JSON object, not {_kind(value)}.")
    return Row(place=place, fields=value)


def _kind(value: Any) -> str:
    """What JSON calls a value of this type."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return f"the number {value}"
        case str():
            return "text"
        case list():
            return "a list"
    return "an object"


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0].rstrip(".") or type(error).__name__
