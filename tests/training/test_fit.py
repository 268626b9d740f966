"""The whole run: it learns from real trees, and a run killed at any moment goes on as if it had not been."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

STEPS = 6
CONFIG = f"""
model: {{folder: "asset:quickstart"}}
tasks: {{count: 64}}
rollout:
  turns: 2
  group_size: 4
  prompts_per_step: 4
  max_context_tokens: 224
  max_completion_tokens: 64
  context_buckets: [224]
  groups_per_batch: 4
  feedback_characters: 260
objective: {{kl_coefficient: 0.01}}
optimizer: {{learning_rate: 3.0e-4}}
training: {{steps: {STEPS}, save_every: 2, groups_per_microbatch: 4, tree_every: 2, compilation_cache: CACHE}}
evaluation: {{tasks: {{split: heldout, count: 4}}, iterations: 2, attempts_per_batch: 4}}
"""


@pytest.fixture(scope="module")
def config_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fit")
    path = folder / "run.yaml"
    path.write_text(CONFIG.replace("CACHE", str(folder / "cache")))
    return path


def start(config_file: Path, directory: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "import sys; from murphy_jax.cli import main; sys.exit(main())"]
    return subprocess.Popen(
        [*command, "train", str(config_file), "--training.directory", str(directory), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
    )


def finish(process: subprocess.Popen[str], code: int = 0) -> str:
    output, _ = process.communicate(timeout=600)
    assert process.returncode == code, output
    return output


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def deterministic(directory: Path) -> list[dict[str, Any]]:
    """The metrics without what a clock says."""
    records = lines(directory / "metrics.jsonl")
    return [{k: v for k, v in record.items() if not k.startswith(("seconds/", "rate/"))} for record in records]


def wait_for_step(process: subprocess.Popen[str], directory: Path, step: int) -> None:
    deadline = time.monotonic() + 500
    while not any(record["step"] >= step for record in lines(directory / "metrics.jsonl")):
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture(scope="module")
def uninterrupted(config_file: Path) -> Path:
    directory = config_file.parent / "whole"
    finish(start(config_file, directory))
    return directory


def test_a_run_writes_metrics_trees_evaluations_a_checkpoint_and_a_model(uninterrupted: Path) -> None:
    records = deterministic(uninterrupted)
    assert [record["step"] for record in records] == list(range(1, STEPS + 1))
    assert any(record["grad_norm"] > 0 for record in records)
    assert records[-1]["kl"] > 0, "the policy has moved away from its reference"
    assert all(record["infra_share"] == 0 for record in records)
    assert [record["step"] for record in lines(uninterrupted / "evaluations.jsonl")] == [0, STEPS]
    trees = lines(uninterrupted / "trees.jsonl")
    assert {tree["step"] for tree in trees} == {1, 2, 4, 6}
    for tree in trees:
        for group in tree["groups"]:
            for member in group["members"]:
                passed = sum(test["outcome"] == "passed" for test in member["tests"])
                assert member["reward"] == pytest.approx(passed / len(member["tests"]))
    assert sorted(path.name for path in (uninterrupted / "model").iterdir() if path.suffix == ".safetensors")
    assert (uninterrupted / "model" / "tokenizer.json").is_file()


def test_a_run_killed_and_resumed_equals_the_uninterrupted_one(config_file: Path, uninterrupted: Path) -> None:
    directory = config_file.parent / "killed"
    process = start(config_file, directory)
    wait_for_step(process, directory, 3)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    finish(start(config_file, directory, "--resume"))
    assert deterministic(directory) == deterministic(uninterrupted)
    assert lines(directory / "evaluations.jsonl") == lines(uninterrupted / "evaluations.jsonl")
    weights = "model/model.safetensors"
    assert (directory / weights).read_bytes() == (uninterrupted / weights).read_bytes()


def test_ctrl_c_saves_and_the_run_goes_on_where_it_stopped(config_file: Path, uninterrupted: Path) -> None:
    directory = config_file.parent / "interrupted"
    process = start(config_file, directory)
    wait_for_step(process, directory, 1)
    process.send_signal(signal.SIGINT)
    output = finish(process, 130)
    assert "--resume" in output
    assert "Traceback" not in output
    done = len(deterministic(directory))
    assert done < STEPS
    finish(start(config_file, directory, "--resume"))
    assert deterministic(directory) == deterministic(uninterrupted)
