"""The page's script, in a real browser where one is installed."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from murphy_jax.observe import quantity
from murphy_jax.observe.page import write_report
from tests.observe.browser import Browser
from tests.observe.runs import HOSTILE, fake_tree, hostile_run, write_lines

Maker = Callable[..., Path]
SELECTED = "Number(document.querySelector('[aria-selected=\"true\"]').dataset.node)"
TEXT = "document.getElementById('node').textContent"


def opened(browser: Browser, folder: Path, fragment: str = "") -> None:
    browser.open(write_report(folder, folder / "report.html"), fragment)


def test_every_attempt_of_the_chosen_tree_is_drawn_with_shape_label_and_size(browser: Browser, tmp_path: Path) -> None:
    tree = fake_tree(random.Random(5), step=3, turns=3, size=4, skill=0.2)
    write_lines(tmp_path / "trees.jsonl", [tree])
    opened(browser, tmp_path)
    members = [(member, group) for group in tree["groups"] for member in group["members"]]
    labels = browser.evaluate("[...document.querySelectorAll('.member')].map((m) => m.getAttribute('aria-label'))")
    assert labels == [
        f"Node {member['node']}, turn {group['turn']}, {member['outcome']}, reward {member['reward']:.2f}, "
        f"credit {member['credit']:.2f}, {'kept' if member['kept'] else 'pruned'}"
        for member, group in members
    ]
    pruned = browser.evaluate("document.querySelectorAll('.member.pruned').length")
    assert pruned == sum(not member["kept"] for member, _ in members) > 0
    assert browser.evaluate("document.querySelectorAll('.edge').length") == len(tree["groups"]) - 1
    shapes = browser.evaluate("OUTCOMES.map((name) => glyph(name, 9).firstChild.getAttribute('points') ?? 'circle')")
    assert len(set(shapes)) == len(shapes) == 6


def test_a_tree_is_browsed_with_the_arrow_keys_alone(browser: Browser, tmp_path: Path) -> None:
    tree = fake_tree(random.Random(5), step=3, turns=2, size=4, skill=0.3)
    write_lines(tmp_path / "trees.jsonl", [tree])
    opened(browser, tmp_path, "#tree-1-node-0")
    child = next(group for group in tree["groups"] if group["parent"] is not None)
    browser.evaluate("document.querySelector('[aria-selected=\"true\"]').focus()")
    visited = []
    for key in ["ArrowRight"] * child["parent"] + [
        "ArrowDown",
        "ArrowRight",
        "ArrowLeft",
        "End",
        "Home",
        "ArrowUp",
        "ArrowUp",
    ]:
        browser.press(key)
        visited.append(browser.evaluate(SELECTED))
    first = child["members"][0]["node"]
    assert visited == [
        *range(1, child["parent"] + 1),
        first,
        first + 1,
        first,
        first + 3,
        first,
        child["parent"],
        child["parent"],
    ]
    assert browser.evaluate("document.activeElement.dataset.node") == str(child["parent"])
    assert browser.evaluate("location.hash") == f"#tree-1-node-{child['parent']}"


def test_the_selected_attempt_is_shown_in_full(browser: Browser, tmp_path: Path) -> None:
    tree = fake_tree(random.Random(5), step=3, size=4, skill=0.2)
    write_lines(tmp_path / "trees.jsonl", [tree])
    group = tree["groups"][1]
    member = group["members"][0]
    opened(browser, tmp_path, f"#tree-1-node-{member['node']}")
    text = browser.evaluate(TEXT)
    for shown in (member["outcome"], member["completion"], group["context"], member["feedback"], member["finish"]):
        assert shown in text
    assert f"repairs node {group['parent']}" in text
    rows = browser.evaluate(
        "[...document.querySelectorAll('.tests tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))"
    )
    # The first cell also holds the glyph's letter.
    assert [row[1:] for row in rows] == [
        [test[key] for key in ("case", "expected", "got", "message")] for test in member["tests"]
    ]
    assert all(row[0].endswith(test["outcome"]) for row, test in zip(rows, member["tests"], strict=True))


def test_step_task_and_the_buttons_choose_the_tree(browser: Browser, tmp_path: Path) -> None:
    rng = random.Random(5)
    write_lines(tmp_path / "trees.jsonl", [fake_tree(rng, step=step, size=3) for step in (10, 10, 20)])
    opened(browser, tmp_path)
    position = "document.getElementById('position').textContent"
    assert browser.evaluate(position) == "tree 3 of 3"
    assert browser.evaluate("document.getElementById('next').disabled")
    browser.evaluate("document.getElementById('previous').click()")
    assert browser.evaluate(position) == "tree 2 of 3"
    assert browser.evaluate("document.getElementById('task').options.length") == 2
    choose = "(() => {{ const menu = find('{0}'); menu.value = '{1}'; menu.dispatchEvent(new Event('change')); }})()"
    browser.evaluate(choose.format("step", 20))
    assert browser.evaluate(position) == "tree 3 of 3"
    browser.evaluate(choose.format("step", 10))
    assert browser.evaluate(position) == "tree 1 of 3"
    browser.evaluate(choose.format("task", 1))
    assert browser.evaluate(position) == "tree 2 of 3"


def test_hostile_text_is_shown_and_never_runs(browser: Browser, tmp_path: Path) -> None:
    opened(browser, hostile_run(tmp_path / "run"))
    for node, text in enumerate(HOSTILE):
        browser.evaluate(
            f"document.querySelector('[data-node=\"{node}\"]').dispatchEvent(new Event('click', {{bubbles: true}}))"
        )
        shown = browser.evaluate(
            "[...document.querySelectorAll('.listing .row code')].map((c) => c.textContent).join('\\n')"
        )
        assert shown == text.rstrip()
        assert (
            browser.evaluate("[...document.querySelectorAll('#node img, #node script, #node b-hostile')].length") == 0
        )
    assert browser.evaluate("typeof window.pwned") == "undefined"


def test_a_chart_is_read_off_with_the_arrow_keys(browser: Browser, make_run: Maker) -> None:
    opened(browser, make_run(steps=12, trees=0, evaluations=0))
    figure = "document.querySelector('[data-chart=\"0\"]')"
    legend = f"[...{figure}.querySelectorAll('output')].map((o) => o.textContent)"
    first, last = (
        browser.evaluate(f"JSON.parse(find('chart-data').textContent)[0].series.map((s) => s[{i}])") for i in (0, 11)
    )
    assert browser.evaluate(legend) == [*(quantity.significant(value) for value in last), "12"]
    browser.evaluate(f"{figure}.focus()")
    browser.press("Home")
    assert browser.evaluate(legend) == [*(quantity.significant(value) for value in first), "1"]
    browser.press("ArrowRight")
    assert browser.evaluate(legend)[-1] == "2"
    browser.evaluate(f"{figure}.blur()")
    assert browser.evaluate(legend)[-1] == "12"


def test_the_script_writes_numbers_as_the_page_does(browser: Browser, make_run: Maker) -> None:
    opened(browser, make_run(steps=1, trees=0, evaluations=0))
    values = [0, 0.0123, -0.0174, 41.23, 2956.2, 3.14e-6, 1234567.0, -2.5e7, 0.999, 100000.0]
    assert browser.evaluate(f"{values}.map(significant)") == [quantity.significant(value) for value in values]
    assert browser.evaluate("[null, NaN].map(significant)") == ["-", "-"]


def test_a_line_diff_rebuilds_both_programs_and_is_as_short_as_possible(browser: Browser, make_run: Maker) -> None:
    opened(browser, make_run(steps=1, trees=0, evaluations=0))
    rng = random.Random(2)
    pairs = [[[rng.choice("abc") for _ in range(rng.randrange(9))] for _ in range(2)] for _ in range(200)]
    for (old, new), diff in zip(pairs, browser.evaluate(f"{pairs}.map(([a, b]) => lineDiff(a, b))"), strict=True):
        assert [old[i] for sign, i, _ in diff if sign != "+"] == old
        assert [new[j] for sign, _, j in diff if sign != "-"] == new
        assert all(old[i] == new[j] for sign, i, j in diff if sign == " ")
        assert sum(sign == " " for sign, _, _ in diff) == common(old, new)


def common(a: list[str], b: list[str]) -> int:
    """Length of the longest common subsequence."""
    row = [0] * (len(b) + 1)
    for item in a:
        above = row[:]
        for j, other in enumerate(b, start=1):
            row[j] = above[j - 1] + 1 if item == other else max(above[j], row[j - 1])
    return row[-1]


def test_highlighting_loses_no_character(browser: Browser, make_run: Maker) -> None:
    opened(browser, make_run(steps=1, trees=0, evaluations=0))
    sources = [
        "def f(x):\n    '''open\n  return x # c\n",
        'x = f"{a}" + rb\'\\\'\' # "quoted"',
        "for i in 1.5e3: pass",
        "",
        "\n\n",
    ]
    rebuilt = "highlight(source).map((line) => line.map(([text]) => text).join('')).join('\\n')"
    for source in sources:
        assert browser.evaluate(f"((source) => {rebuilt})({json.dumps(source)})") == source
    kinds = browser.evaluate(f"highlight({json.dumps(sources[1])}).flat().filter(([, css]) => css)")
    assert [kind for _, kind in kinds] == ["string", "string", "comment"]


def test_a_phone_needs_no_sideways_scrolling(browser: Browser, make_run: Maker) -> None:
    browser.resize(390, 800)
    opened(browser, make_run(steps=30, turns=2, size=6))
    widths: list[Any] = browser.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    browser.resize(1280, 900)
    assert widths == [390, 390]
