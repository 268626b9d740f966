"""The JSONL log: what is written is read, and a death at any byte costs at most the last record."""

import errno
import json
import math
import os
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from murphy_jax.errors import UserError
from murphy_jax.observe import metrics
from murphy_jax.observe.metrics import MetricsLog

numbers = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**12), 10**12)
records = st.lists(
    st.dictionaries(st.text(max_size=8).filter(lambda key: key != "step"), numbers, max_size=3), max_size=6
)


def test_records_are_read_in_the_order_they_were_written(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path / "run" / "metrics.jsonl")
    log.write(1, {"loss": 0.5, "nodes/turn_1": 64})
    log.write(2, {"loss": 0.25, "nodes/turn_1": 64})
    assert metrics.read(log.path) == [
        {"step": 1, "loss": 0.5, "nodes/turn_1": 64},
        {"step": 2, "loss": 0.25, "nodes/turn_1": 64},
    ]


def test_a_line_is_on_disk_as_soon_as_it_is_written(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path / "metrics.jsonl")
    log.write(1, {"loss": 0.5})
    assert log.path.read_bytes() == b'{"step": 1, "loss": 0.5}\n'


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_null_so_that_any_json_reader_can_read_it(tmp_path: Path, value: float) -> None:
    log = MetricsLog(tmp_path / "metrics.jsonl")
    log.write(1, {"loss": value, "nested": {"deep": [value, 1.0]}})
    assert log.path.read_text() == '{"step": 1, "loss": null, "nested": {"deep": [null, 1.0]}}\n'


def test_a_nan_that_another_program_wrote_is_read_as_none(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1, "loss": NaN, "kl": -Infinity}\n')
    assert metrics.read(path) == [{"step": 1, "loss": None, "kl": None}]


def test_numpy_scalars_are_written_as_numbers(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path / "metrics.jsonl")
    log.write(1, {"loss": np.float32(0.5), "executions": np.int64(7), "nan": np.float32("nan")})
    assert metrics.read(log.path) == [{"step": 1, "loss": 0.5, "executions": 7, "nan": None}]


def test_what_is_not_data_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="set"):
        MetricsLog(tmp_path / "metrics.jsonl").write(1, {"loss": {1, 2}})


def test_the_step_cannot_be_given_twice(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        MetricsLog(tmp_path / "metrics.jsonl").write(1, {"step": 2})


@pytest.mark.parametrize("text", ["\u2028 line separator", "</script>", "lone surrogate \ud800", "two\nlines", "\x00"])
def test_any_text_survives_a_round_trip_on_one_ascii_line(tmp_path: Path, text: str) -> None:
    log = MetricsLog(tmp_path / "trees.jsonl")
    log.write(3, {"groups": [{"members": [{"completion": text, "kept": True, "parent": None}]}]})
    assert metrics.read(log.path)[0]["groups"][0]["members"][0]["completion"] == text
    content = log.path.read_bytes()
    assert content.isascii()
    assert content.count(b"\n") == 1


def test_a_file_that_does_not_exist_holds_nothing(tmp_path: Path) -> None:
    assert metrics.read(tmp_path / "metrics.jsonl") == []
    MetricsLog(tmp_path / "metrics.jsonl").truncate_after(3)
    assert not (tmp_path / "metrics.jsonl").exists()


@given(written=records, data=st.data())
def test_a_file_cut_at_any_byte_reads_as_its_whole_records_and_can_be_continued(
    tmp_path_factory: pytest.TempPathFactory, written: list[dict[str, Any]], data: st.DataObject
) -> None:
    log = MetricsLog(tmp_path_factory.mktemp("log") / "metrics.jsonl")
    for step, record in enumerate(written):
        log.write(step, record)
    content = log.path.read_bytes() if written else b""
    cut = content[: data.draw(st.integers(0, len(content)))]
    log.path.write_bytes(cut)
    # A last line that lacks only its newline is whole.
    whole = cut.count(b"\n") + (cut[-1:] == b"}" and content[len(cut) :].startswith(b"\n"))
    expected = [{"step": step, **record} for step, record in enumerate(written[:whole])]
    assert metrics.read(log.path) == expected
    log.write(99, {"loss": 1.0})
    assert metrics.read(log.path) == [*expected, {"step": 99, "loss": 1.0}]


def test_truncating_drops_later_steps_and_a_half_written_line_and_keeps_the_rest_byte_for_byte(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    kept = b'{"step":1,   "loss": 0.50}\n{"step": 2, "loss": 0.25}\n'
    path.write_bytes(kept + b'{"step": 3, "loss": 0.1}\n{"step": 4, "lo')
    MetricsLog(path).truncate_after(2)
    assert path.read_bytes() == kept
    assert [file.name for file in tmp_path.iterdir()] == ["metrics.jsonl"]


def test_truncating_keeps_several_records_of_one_step(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path / "trees.jsonl")
    for step, task in ((10, "a"), (10, "b"), (20, "c")):
        log.write(step, {"task_id": task})
    log.truncate_after(10)
    assert [record["task_id"] for record in metrics.read(log.path)] == ["a", "b"]


def _full_disk(*_: object, **__: object) -> NoReturn:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_disk_that_fills_while_truncating_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = MetricsLog(tmp_path / "metrics.jsonl")
    log.write(1, {})
    log.write(2, {})
    before = log.path.read_bytes()
    monkeypatch.setattr(os, "fsync", _full_disk)
    with pytest.raises(UserError, match="No space left on device"):
        log.truncate_after(1)
    assert log.path.read_bytes() == before


def test_a_full_disk_is_one_sentence_that_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = MetricsLog(tmp_path / "metrics.jsonl")
    monkeypatch.setattr(Path, "open", _full_disk)
    with pytest.raises(UserError) as caught:
        log.write(1, {"loss": 1.0})
    assert str(log.path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_damage_before_the_last_line_is_an_error_that_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\n{"step": 2, "lo\n{"step": 3}\n')
    with pytest.raises(UserError, match="line 2"):
        metrics.read(path)
    with pytest.raises(UserError, match="line 2"):
        MetricsLog(path).truncate_after(1)


@pytest.mark.parametrize("tail", [b'{"step": 2, "los', b"\x00\x00\x00", b'{"step": 2}}', b"[1, 2]", b"[" * 100_000])
def test_a_damaged_last_line_is_left_out(tmp_path: Path, tail: bytes) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"step": 1}\n' + tail)
    assert metrics.read(path) == [{"step": 1}]


def test_a_folder_in_place_of_the_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="Cannot read"):
        metrics.read(tmp_path)


def test_the_log_reads_back_as_plain_json(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path / "evaluations.jsonl")
    log.write(0, {"benchmark": "repair", "iterations": ({"iteration": 1, "pass_rate": 0.25},)})
    assert json.loads(log.path.read_text())["iterations"] == [{"iteration": 1, "pass_rate": 0.25}]
