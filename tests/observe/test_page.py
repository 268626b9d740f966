"""The report: one page that needs nothing else, whatever is missing from the run and whatever its programs contain."""

import json
import os
import random
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import murphy_jax
from murphy_jax.errors import UserError
from murphy_jax.observe import page
from murphy_jax.observe.page import write_report
from tests.observe.runs import HOSTILE, fake_evaluation, fake_metrics, hostile_run, write_lines

ASSETS = Path(murphy_jax.__file__).parent / "assets" / "report"
Maker = Callable[..., Path]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


class Page(HTMLParser):
    """Elements of a page in document order: tag, attributes, text directly inside."""

    def __init__(self, path: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.open: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.feed(path.read_text(encoding="utf-8"))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element: tuple[str, dict[str, str | None], list[str]] = (tag, dict(attrs), [])
        self.elements.append(element)
        self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self.open:
            self.open[-1][2].append(data)

    def find(self, tag: str, **attributes: str) -> Iterator[tuple[dict[str, str | None], str]]:
        for name, found, texts in self.elements:
            if name == tag and all(found.get(key.rstrip("_")) == value for key, value in attributes.items()):
                yield found, "".join(texts)

    def trees(self) -> list[dict[str, Any]]:
        return [json.loads(text) for _, text in self.find("script", class_="tree-data")]

    def text(self) -> str:
        return " ".join(
            text.strip() for tag, _, texts in self.elements for text in texts if tag not in ("script", "style")
        )


def report(folder: Path) -> Page:
    return Page(write_report(folder, folder / "report.html"))


def test_every_recorded_tree_is_in_the_page_unchanged(make_run: Maker) -> None:
    folder = make_run(trees=5)
    written = [json.loads(line) for line in (folder / "trees.jsonl").read_text().splitlines()]
    assert report(folder).trees() == written


def test_the_page_needs_no_other_file_and_no_network(make_run: Maker) -> None:
    folder = make_run()
    found = report(folder)
    for _, attributes, _ in found.elements:
        assert "src" not in attributes
        assert (attributes.get("href") or "#").startswith("#")
        assert not any(name.startswith("on") or name == "style" for name in attributes)
    assert not {tag for tag, _, _ in found.elements} & {"link", "iframe", "object", "embed", "img", "base"}
    style = next(found.find("style"))[1]
    assert "url(" not in style
    assert "@import" not in style


def test_the_policy_allows_exactly_the_script_and_the_style_of_the_page(make_run: Maker) -> None:
    found = report(make_run())
    ((meta, _),) = found.find("meta", **{"http-equiv": "Content-Security-Policy"})
    policy = meta["content"] or ""
    ((_, script),) = ((attributes, text) for attributes, text in found.find("script") if "type" not in attributes)
    ((_, style),) = found.find("style")
    assert policy.startswith("default-src 'none';")
    assert re.findall(r"'(sha256-[^']+)'", policy) == [page._digest(style), page._digest(script)]
    assert "unsafe" not in policy


def test_the_scripts_make_text_and_never_markup() -> None:
    source = "".join((ASSETS / name).read_text(encoding="ascii") for name in page.SCRIPTS)
    for name in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "Function(",
        "DOMParser",
        "fetch(",
    ):
        assert name not in source
    assert "</script" not in source.lower()
    assert {path.name for path in ASSETS.glob("*.js")} == set(page.SCRIPTS)


@given(json_values)
def test_embedded_json_holds_no_markup_and_reads_back(value: object) -> None:
    text = str(page.embed(value))
    assert not set(text) & set("<>&\u2028\u2029")
    assert text.isascii()
    assert json.loads(text) == value


def test_hostile_programs_stay_data(tmp_path: Path) -> None:
    folder = hostile_run(tmp_path / "run")
    found = report(folder)
    members = [member for tree in found.trees() for group in tree["groups"] for member in group["members"]]
    assert {member["program"] for member in members} == set(HOSTILE)
    executable = [attributes for attributes, _ in found.find("script") if "type" not in attributes]
    assert len(executable) == 1
    assert not {tag for tag, _, _ in found.elements} & {"img", "iframe", "b-hostile"}


def test_a_hostile_folder_name_configuration_and_benchmark_are_text(tmp_path: Path) -> None:
    found = report(hostile_run(tmp_path / "<img src=x onerror=alert(1)>"))
    assert next(found.find("h1"))[1] == "<img src=x onerror=alert(1)>"
    assert any(HOSTILE[0] in text for _, text in found.find("pre", class_="code"))
    assert not list(found.find("img"))


def test_headline_numbers_are_the_held_out_rates_after_training(make_run: Maker) -> None:
    folder = make_run()
    evaluations = [json.loads(line) for line in (folder / "evaluations.jsonl").read_text().splitlines()]
    before, after = (record["iterations"][0]["pass_rate"] for record in evaluations)
    text = report(folder).text()
    assert f"{100 * after:.1f} % from {100 * before:.1f} %, {100 * (after - before):+.1f} points" in text


def test_a_single_evaluation_is_shown_with_its_step_and_no_change(tmp_path: Path, rng: random.Random) -> None:
    write_lines(tmp_path / "evaluations.jsonl", [fake_evaluation(rng, step=40, gain=0.0)])
    text = report(tmp_path).text()
    assert "% at step 40" in text
    assert "points" not in text


def test_the_whole_cost_of_the_run_is_stated(make_run: Maker) -> None:
    folder = make_run(steps=10)
    records = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    tokens = sum(record["tokens/generated"] for record in records)
    text = report(folder).text()
    assert f"Tokens generated {tokens / 1000:.0f}k" in text
    for name in ("Completions", "Tokens trained", "Programs run", "Training time"):
        assert name in text


def test_every_chart_can_be_read_off_by_the_script(make_run: Maker) -> None:
    found = report(make_run(evaluations=4))
    ((_, text),) = found.find("script", id="chart-data")
    data = json.loads(text)
    figures = [(attributes, text) for attributes, text in found.find("figure") if "data-chart" in attributes]
    assert [int(attributes["data-chart"] or -1) for attributes, _ in figures] == list(range(len(data)))
    assert all(len(values) == len(chart["steps"]) for chart in data for values in chart["series"])
    assert data[0]["steps"][0] == 0  # the held-out curve comes first


def test_the_same_run_gives_the_same_page(make_run: Maker) -> None:
    folder = make_run()
    first = write_report(folder, folder / "a.html").read_bytes()
    assert write_report(folder, folder / "b.html").read_bytes() == first


PIECES = {
    "config.yaml": "Settings",
    "metrics.jsonl": "Training",
    "trees.jsonl": "Rollout trees",
    "evaluations.jsonl": "Held-out tasks",
}


@pytest.mark.parametrize("missing", PIECES)
def test_a_missing_piece_leaves_out_its_section_alone(make_run: Maker, missing: str) -> None:
    folder = make_run(steps=5, trees=1)
    (folder / missing).unlink()
    found = report(folder)
    assert {text for _, text in found.find("h2")} == set(PIECES.values()) - {PIECES[missing]}


@pytest.mark.parametrize("kept", PIECES)
def test_a_single_piece_is_enough(make_run: Maker, kept: str) -> None:
    folder = make_run(steps=1, trees=1, evaluations=1)
    for name in PIECES:
        if name != kept:
            (folder / name).unlink()
    assert [text for _, text in report(folder).find("h2")] == [PIECES[kept]]


def test_without_evaluations_the_headline_is_the_training_reward(make_run: Maker) -> None:
    folder = make_run(steps=20)
    (folder / "evaluations.jsonl").unlink()
    text = report(folder).text()
    assert "Training reward, turn 1" in text
    assert "means of 5 steps" in text


def test_a_run_that_has_only_begun_says_so(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("")
    assert "neither metrics nor trees yet" in report(tmp_path).text()


def test_a_half_written_last_line_of_a_running_job_is_left_out(make_run: Maker) -> None:
    folder = make_run(steps=5, trees=2)
    for name in ("metrics.jsonl", "trees.jsonl", "evaluations.jsonl"):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[:-20])
    found = report(folder)
    assert len(found.trees()) == 1
    assert "4 training steps" in found.text()


def test_a_step_recorded_twice_counts_once_with_its_last_record(tmp_path: Path) -> None:
    write_lines(tmp_path / "metrics.jsonl", [{"step": 1, "executions": 5}, {"step": 1, "executions": 7}])
    assert "Programs run 7" in report(tmp_path).text()


def test_values_that_are_null_do_not_break_the_page(tmp_path: Path, rng: random.Random) -> None:
    record = dict.fromkeys(fake_metrics(rng, step=1, steps=2)) | {"step": 1}
    write_lines(tmp_path / "metrics.jsonl", [record, fake_metrics(rng, step=2, steps=2)])
    write_lines(tmp_path / "evaluations.jsonl", [{"step": 0, "iterations": [{"iteration": 1, "pass_rate": None}]}])
    write_lines(tmp_path / "trees.jsonl", [{"step": 1, "task_id": None}])
    assert "Reward" in report(tmp_path).text()


@pytest.mark.parametrize("make", [Path.exists, Path.mkdir, Path.touch])
def test_what_is_no_run_folder_is_one_sentence_that_says_what_to_give(
    tmp_path: Path, make: Callable[[Path], object]
) -> None:
    path = tmp_path / "nothing"
    make(path)
    with pytest.raises(UserError) as caught:
        write_report(path, tmp_path / "report.html")
    assert "Give the" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "report.html").exists()


def test_an_unwritable_output_is_one_sentence(make_run: Maker, tmp_path: Path) -> None:
    folder = make_run(steps=1, trees=0)
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="Cannot write the report"):
        write_report(folder, tmp_path / "file" / "report.html")


def test_an_interrupted_write_leaves_the_earlier_page(make_run: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_run(steps=1, trees=0)
    earlier = write_report(folder, folder / "report.html").read_bytes()

    def fail(*_: object) -> None:
        raise OSError(5, os.strerror(5))

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(UserError):
        write_report(folder, folder / "report.html")
    assert (folder / "report.html").read_bytes() == earlier


def test_a_thousand_trees_are_embedded_in_seconds(make_run: Maker) -> None:
    folder = make_run(trees=1, size=8)
    line = (folder / "trees.jsonl").read_text()
    (folder / "trees.jsonl").write_text(line * 1000)
    path = write_report(folder, folder / "report.html")
    assert path.read_text().count('class="tree-data"') == 1000
