"""A fake run folder that looks like a real one: random trees by the contract of trees.jsonl, metrics that improve."""

import json
import math
import random
from pathlib import Path
from typing import Any

WRONG = "wrong"
TASKS: tuple[tuple[str, str, dict[str, str]], ...] = (
    (
        "repair/count_vowels",
        "Write a function count_vowels(text) that returns how many vowels the text has.\n"
        "Whether the letter y counts is up to the tests.",
        {
            WRONG: 'def count_vowels(text):\n    """Number of vowels."""\n    total = 0\n    for letter in text:\n'
            '        if letter in "aeiou":\n            total += 1\n    return total\n',
            "error": 'def count_vowels(text):\n    vowels = set("aeiou")\n'
            "    return sum(letter in vowel for letter in text)\n",
            "timeout": "def count_vowels(text):\n    index = 0\n"
            "    while index < len(text):\n        pass\n    return index\n",
            "passed": 'def count_vowels(text):\n    """Number of vowels, y included."""\n    total = 0\n'
            '    for letter in text.lower():\n        if letter in "aeiouy":  # the tests count y\n'
            "            total += 1\n    return total\n",
        },
    ),
    (
        "repair/round_prices",
        "Write a function round_prices(prices) that rounds every price to whole units.\n"
        "How halves are rounded is up to the tests.",
        {
            WRONG: "def round_prices(prices):\n    return [round(price) for price in prices]\n",
            "error": "import math\n\ndef round_prices(prices):\n    return list(map(math.floor, price + 0.5))\n",
            "killed": "def round_prices(prices):\n    cache = [0.0] * 10**10\n"
            "    return [cache[int(p)] for p in prices]\n",
            "passed": "import math\n\n\ndef round_prices(prices):\n    # Halves go up: 2.5 -> 3.\n"
            "    return [math.floor(price + 0.5) for price in prices]\n",
        },
    ),
)
CASES = {
    "repair/count_vowels": (
        ("count_vowels('yes')", "2", "1"),
        ("count_vowels('Rhythm')", "1", "0"),
        ("count_vowels('')", "0", "0"),
    ),
    "repair/round_prices": (
        ("round_prices([2.5])", "[3]", "[2]"),
        ("round_prices([0.5, 1.5])", "[1, 2]", "[0, 2]"),
        ("round_prices([])", "[]", "[]"),
    ),
}
MESSAGES = {
    WRONG: "AssertionError",
    "error": "NameError: name 'price' is not defined",
    "timeout": "timed out after 3 s of CPU",
    "killed": "memory limit of 512 MB",
}


def _tests(task_id: str, outcome: str) -> list[dict[str, str]]:
    results = []
    for case, expected, got in CASES[task_id]:
        right = outcome == "passed" or (outcome == WRONG and got == expected)
        shown = expected if right else got if outcome == WRONG else ""
        results.append(
            {
                "outcome": "passed" if right else outcome,
                "case": case,
                "expected": expected,
                "got": shown,
                "message": "" if right else MESSAGES[outcome],
            }
        )
    return results


def fake_member(rng: random.Random, node: int, task: tuple[str, str, dict[str, str]], skill: float) -> dict[str, Any]:
    """One attempt; `skill` is its chance to pass."""
    task_id, _, programs = task
    failures = [name for name in programs if name != "passed"]
    outcome = "passed" if rng.random() < skill else rng.choices(failures, weights=[4, 2, 1][: len(failures)])[0]
    tests = _tests(task_id, outcome)
    reward = sum(test["outcome"] == "passed" for test in tests) / len(tests)
    failed = [
        f"{t['case']}: expected {t['expected']}, got {t['got'] or t['message']}"
        for t in tests
        if t["outcome"] != "passed"
    ]
    return {
        "node": node,
        "completion": f"Here is the function.\n```python\n{programs[outcome]}```",
        "program": programs[outcome],
        "reward": reward,
        "credit": reward,
        "advantage": 0.0,
        "kept": True,
        "finish": "length" if rng.random() < 0.05 else "stop",
        "outcome": outcome,
        "tests": tests,
        "feedback": "" if not failed else f"{reward:.0%} of the tests passed.\n" + "\n".join(failed),
    }


def fake_tree(rng: random.Random, *, step: int, turns: int = 2, size: int = 6, skill: float = 0.4) -> dict[str, Any]:
    """A tree by the contract: level order, only failed nodes have a child group, credit is the best of the subtree."""
    task = rng.choice(TASKS)
    groups: dict[int, dict[str, Any]] = {}
    frontier: list[tuple[int, int | None, str]] = [(0, None, f"<|user|>\n{task[1]}\n<|assistant|>\n")]
    for turn in range(1, turns + 1):
        reached = []
        for group, parent, context in frontier:
            members = [fake_member(rng, group * size + index, task, min(0.95, skill * turn)) for index in range(size)]
            groups[group] = {
                "group": group,
                "turn": turn,
                "parent": parent,
                "kept": True,
                "context": context,
                "members": members,
            }
            for member in members:
                if member["reward"] < 1:
                    reached.append(
                        (
                            member["node"] + 1,
                            member["node"],
                            context + member["completion"] + f"\n<|user|>\n{member['feedback']}\n<|assistant|>\n",
                        )
                    )
        frontier = reached
    _assign_credit(rng, groups)
    ordered = [groups[group] for group in sorted(groups)]
    return {
        "step": step,
        "task_id": task[0],
        "prompt": task[1],
        "num_turns": turns,
        "group_size": size,
        "groups": ordered,
    }


def _assign_credit(rng: random.Random, groups: dict[int, dict[str, Any]]) -> None:
    for number in sorted(groups, reverse=True):
        members = groups[number]["members"]
        for member in members:
            child = groups.get(member["node"] + 1)
            if child is not None:
                member["credit"] = max([member["reward"], *(other["credit"] for other in child["members"])])
        mean = sum(member["credit"] for member in members) / len(members)
        deviation = math.sqrt(sum((member["credit"] - mean) ** 2 for member in members) / len(members))
        for member in members:
            member["advantage"] = (member["credit"] - mean) / (deviation + 1e-4)
        if number > 0 and rng.random() < 0.3:
            groups[number]["kept"] = False
        for member in members:
            member["kept"] = bool(groups[number]["kept"]) and not (number > 0 and rng.random() < 0.15)


def fake_metrics(rng: random.Random, *, step: int, steps: int, turns: int = 2) -> dict[str, Any]:
    """One step's record; everything gets better over the run, with noise."""
    done = 1 - math.exp(-3 * step / steps)
    record: dict[str, Any] = {"step": step}
    for turn in range(1, turns + 1):
        level = min(0.95, (0.12 + 0.14 * turn) + (0.26 + 0.1 * turn) * done + rng.gauss(0, 0.035))
        record[f"reward/turn_{turn}"] = level
        record[f"pass_rate/turn_{turn}"] = max(0.0, level - 0.14)
        if turn > 1:
            record[f"rescue_rate/turn_{turn}"] = max(0.0, 0.1 + 0.45 * done + rng.gauss(0, 0.05))
        record[f"length/turn_{turn}"] = 140 + 25 * turn - 40 * done + rng.gauss(0, 6)
        record[f"truncated_share/turn_{turn}"] = max(0.0, 0.06 * (1 - done) + rng.gauss(0, 0.008))
        record[f"nodes/turn_{turn}"] = 64 if turn == 1 else int(64 * 6 * (0.8 - 0.4 * done))
    rollout, update = 3.1 + rng.random() * 0.6, 0.9 + rng.random() * 0.1
    if step == 1:
        rollout += 38.0
    record |= {
        "solved_rate": 0.3 + 0.5 * done,
        "loss": rng.gauss(0, 0.012) - 0.01 * done,
        "grad_norm": 0.9 * math.exp(-done) + abs(rng.gauss(0, 0.08)),
        "learning_rate": 1e-5,
        "clip_share": 0.01 + abs(rng.gauss(0, 0.004)),
        "kl": 0.0,
        "dead_group_share": min(1.0, 0.22 + 0.18 * done + rng.gauss(0, 0.03)),
        "kept_group_share": 0.7 + rng.gauss(0, 0.02),
        "tokens/generated": 9000 + rng.randrange(900),
        "tokens/trained": 6000 + rng.randrange(900),
        "executions": 280 + rng.randrange(40),
        "infra_share": 0.0,
        "seconds/rollout": rollout,
        "seconds/update": update,
        "seconds/step": rollout + update + 0.2,
        "rate/tokens_per_second": 3000 + rng.gauss(0, 150) - (2600 if step == 1 else 0),
        "rate/executions_per_second": 92 + rng.gauss(0, 4),
    }
    return record


def fake_evaluation(rng: random.Random, *, step: int, gain: float, iterations: int = 3) -> dict[str, Any]:
    """A held-out evaluation of 64 tasks."""
    rows = []
    for iteration in range(1, iterations + 1):
        rate = min(1.0, 0.2 + 0.09 * iteration + gain + rng.gauss(0, 0.01))
        rows.append(
            {"iteration": iteration, "pass_rate": rate, "low": max(0.0, rate - 0.11), "high": min(1.0, rate + 0.11)}
        )
    return {"step": step, "benchmark": "repair", "num_tasks": 64, "samples_per_task": 4, "iterations": rows}


def write_lines(path: Path, records: list[dict[str, Any]]) -> None:
    """Write records as JSONL, independently of the product's writer."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def fake_run(
    folder: Path, *, steps: int = 60, turns: int = 2, trees: int = 12, size: int = 6, evaluations: int = 2
) -> Path:
    """Write a whole run folder."""
    rng = random.Random(7)
    folder.mkdir(parents=True, exist_ok=True)
    config = "model:\n  folder: asset:tiny-qwen3\nrollout:\n  turns: 2\n  group_size: 6\ncredit:\n  rule: mars\n"
    (folder / "config.yaml").write_text(config, encoding="utf-8")
    write_lines(
        folder / "metrics.jsonl", [fake_metrics(rng, step=s, steps=steps, turns=turns) for s in range(1, steps + 1)]
    )
    at = sorted(1 + index * (steps - 1) // max(1, trees - 1) // 10 * 10 for index in range(trees))
    write_lines(
        folder / "trees.jsonl",
        [fake_tree(rng, step=s, turns=turns, size=size, skill=0.25 + 0.4 * s / steps) for s in at],
    )
    when = [index * steps // max(1, evaluations - 1) for index in range(evaluations)]
    write_lines(folder / "evaluations.jsonl", [fake_evaluation(rng, step=s, gain=0.26 * s / steps) for s in when])
    return folder


HOSTILE = (
    "</script><script>window.pwned = 1</script>",
    "<img src=x onerror='window.pwned = 1'><b-hostile>",
    "<!--<script>\nwindow.pwned = 1",
    "line \u2028 separator \u2029 and \x00 nul and \ud800 lone surrogate",
    "{{ 7 * 7 }} {% raw %} &lt;script&gt; \\u003cscript\\u003e",
    "__proto__ = '''${window.pwned = 1}`\nconstructor",
)


def hostile_run(folder: Path) -> Path:
    """A run in which every recorded text is hostile; node n of its tree has HOSTILE[n] everywhere."""
    fake_run(folder, steps=2, trees=1, turns=1, size=len(HOSTILE))
    tree = json.loads((folder / "trees.jsonl").read_text(encoding="utf-8"))
    group = tree["groups"][0]
    tree["task_id"] = tree["prompt"] = group["context"] = HOSTILE[0]
    for member, text in zip(group["members"], HOSTILE, strict=True):
        member["completion"] = member["program"] = member["feedback"] = text
        for test in member["tests"]:
            test["case"] = test["expected"] = test["got"] = test["message"] = text
    write_lines(folder / "trees.jsonl", [tree])
    (folder / "config.yaml").write_text(HOSTILE[0], encoding="utf-8")
    evaluation = fake_evaluation(random.Random(0), step=0, gain=0.0) | {"benchmark": "".join(HOSTILE)}
    write_lines(folder / "evaluations.jsonl", [evaluation])
    return folder
