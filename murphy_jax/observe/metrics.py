"""A JSONL log: one object a line, each with a `step`; metrics, recorded trees and evaluations are all written with it.

A line is written whole and flushed, so a reader that comes at any moment sees whole records and at most one
half-written last line. JSON has no NaN: a value that is not finite is written as null. It does not rotate, sort or
compress, and one process writes a file.
"""

import json
import math
import os
from collections.abc import Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from murphy_jax.errors import UserError


class MetricsLog:
    """Append-only writer of one JSONL file.

    Attributes:
        path: the file; it and its folder appear with the first record.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, step: int, metrics: Mapping[str, object]) -> None:
        """Append `{"step": step, **metrics}`; keys keep their order, nested mappings and sequences are allowed.

        Raises:
            UserError: the file cannot be written (disk full, no permission).
        """
        assert "step" not in metrics, "the step is an argument of its own"
        line = json.dumps({"step": step, **_plain_mapping(metrics)}, allow_nan=False) + "\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            _end_last_line(self.path)
            with self.path.open("ab") as file:
                file.write(line.encode("ascii"))
        except OSError as error:
            raise UserError(f"Cannot write {self.path}: {error.strerror}. Make room there, then resume.") from None

    def truncate_after(self, step: int) -> None:
        """Drop the records of later steps and a half-written last line; what stays is kept byte for byte.

        The file is replaced in one move, so a run that dies here loses nothing.

        Raises:
            UserError: the file is damaged before its last line, or cannot be written.
        """
        if not self.path.exists():
            return
        kept = b"".join(line + b"\n" for line, record in _records(self.path) if _step(record) <= step)
        partial = self.path.with_name(self.path.name + ".partial")
        try:
            with partial.open("wb") as file:
                file.write(kept)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(self.path)
        except OSError as error:
            raise UserError(f"Cannot write {self.path}: {error.strerror}. Make room there, then resume.") from None


def read(path: Path) -> list[dict[str, Any]]:
    """All whole records of `path` in file order; none where the file does not exist.

    A half-written last line is left out. A number that was not finite reads as None.

    Raises:
        UserError: the file cannot be read, or a line before the last is not a JSON object.
    """
    return [record for _, record in _records(path)] if path.exists() else []


def _records(path: Path) -> list[tuple[bytes, dict[str, Any]]]:
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise UserError(f"Cannot read {path}: {error.strerror}.") from None
    while lines and not lines[-1].strip():
        lines.pop()
    records = []
    for number, line in enumerate(lines, start=1):
        record = _parse(line)
        if record is not None:
            records.append((line, record))
        elif line.strip() and number < len(lines):
            raise UserError(f"{path}, line {number}: not a JSON object. Remove that line.")
    return records


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _step(record: Mapping[str, Any]) -> float:
    step = record.get("step")
    return step if isinstance(step, int | float) else -math.inf


def _end_last_line(path: Path) -> None:
    """Make the file end with a newline: complete a whole last record, cut off a half-written one."""
    if not path.exists() or path.stat().st_size == 0:
        return
    with path.open("rb+") as file:
        file.seek(-1, os.SEEK_END)
        if file.read(1) == b"\n":
            return
        file.seek(0)
        content = file.read()
        start = content.rfind(b"\n") + 1
        if _parse(content[start:]) is None:
            file.truncate(start)
        else:
            file.write(b"\n")


def _plain_mapping(mapping: Mapping[Any, object]) -> dict[str, object]:
    return {str(key): _plain(value) for key, value in mapping.items()}


def _plain(value: object) -> object:
    """`value` as JSON knows it; numpy scalars register with `numbers`, so they need no import here."""
    match value:
        case None | bool() | str():
            return value
        case Integral():
            return int(value)
        case Real():
            return float(value) if math.isfinite(value) else None
        case Mapping():
            return _plain_mapping(value)
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            raise TypeError(f"not a number, text, mapping or sequence: {type(value).__name__}")
