"""The command line: a mistake is one line and exit code 2, and nothing is left behind."""

import json
from pathlib import Path

import pytest

from murphy_jax import cli

TINY = """
model: {folder: "asset:quickstart"}
tasks: {count: 8}
rollout: {group_size: 2, prompts_per_step: 2, max_context_tokens: 256, max_completion_tokens: 64}
evaluation: {tasks: {split: heldout, count: 2}, iterations: 1}
"""


def failed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line that a wrong call prints."""
    assert cli.main(arguments) == 2
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    lines = captured.err.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("murphy: ")
    return lines[0]


@pytest.fixture
def config_file(tmp_path: Path) -> str:
    path = tmp_path / "run.yaml"
    path.write_text(TINY)
    return str(path)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("trian",), "invalid choice"),
        ((), "required"),
        (("train", "nowhere.yaml"), "Cannot read the configuration"),
        (("train",), "required"),
        (("evaluate", "--policy", "clever"), "evaluation.policy"),
        (("evaluate", "--evaluation.samples"), "needs a value"),
        (("evaluate", "--wrong", "1"), "nrecognized arguments"),
        (("report", "nowhere"), "nowhere"),
        (("evaluate", "--benchmark", "mbpp", "--policy", "empty", "--evaluation.tasks.split", "tran"), "split"),
    ],
)
def test_a_wrong_call_is_one_line(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str) -> None:
    assert said in failed(capsys, *arguments)


def test_an_unknown_key_is_refused_with_a_near_name(capsys: pytest.CaptureFixture[str], config_file: str) -> None:
    assert "Did you mean group_size?" in failed(capsys, "train", config_file, "--rollout.group_sise", "3")


def test_a_folder_that_holds_other_files_is_left_alone(
    capsys: pytest.CaptureFixture[str], config_file: str, tmp_path: Path
) -> None:
    folder = tmp_path / "taken"
    folder.mkdir()
    (folder / "thesis.txt").write_text("precious")
    assert "not a run" in failed(capsys, "train", config_file, "--training.directory", str(folder))
    assert [p.name for p in folder.iterdir()] == ["thesis.txt"]


def test_a_folder_that_holds_a_run_needs_resume_and_the_same_configuration(
    capsys: pytest.CaptureFixture[str], config_file: str, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "config.yaml").write_text(TINY)
    at = ("--training.directory", str(folder))
    assert "--resume" in failed(capsys, "train", config_file, *at)
    said = failed(capsys, "train", config_file, "--resume", "--optimizer.learning_rate", "0.1", *at)
    assert "optimizer.learning_rate" in said


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (("--model.folder", "nowhere"), "nowhere"),
        (("--rollout.max_context_tokens", "20"), "rollout.max_context_tokens"),
        (("--rollout.max_completion_tokens", "1000000"), "positions"),
        (("--tasks.count", "1"), "prompts_per_step"),
    ],
)
def test_a_run_that_cannot_start_leaves_no_folder(
    capsys: pytest.CaptureFixture[str], config_file: str, tmp_path: Path, overrides: tuple[str, ...], said: str
) -> None:
    folder = tmp_path / "run"
    assert said in failed(capsys, "train", config_file, "--training.directory", str(folder), *overrides)
    assert not folder.exists()


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("{", "line 2"),
        (json.dumps({"task_id": "x"}), "line 2"),
        (json.dumps([1]), "line 2"),
    ],
)
def test_a_malformed_row_is_named_by_file_and_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, row: str, said: str
) -> None:
    good = {
        "task_id": "HumanEval/0",
        "prompt": 'def f(x):\n    """One more."""\n',
        "entry_point": "f",
        "canonical_solution": "    return x + 1\n",
        "test": "def check(candidate):\n    assert candidate(1) == 2\n",
    }
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(good) + "\n" + row + "\n")
    line = failed(
        capsys, "evaluate", "--benchmark", "humaneval", "--policy", "reference", "--evaluation.tasks.path", str(path)
    )
    assert said in line
    assert "rows.jsonl" in line


def test_an_empty_data_file_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_text("")
    assert "empty.jsonl" in failed(
        capsys, "evaluate", "--benchmark", "mbpp", "--policy", "empty", "--evaluation.tasks.path", str(path)
    )


def test_reference_solutions_pass_and_empty_ones_do_not(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    output = tmp_path / "verdicts.jsonl"
    common = ("evaluate", "--benchmark", "humaneval", "--evaluation.tasks.count", "20", "--iterations", "1")
    assert cli.main([*common, "--policy", "reference", "--output", str(output)]) == 0
    assert "20 of 20 tasks solved" in capsys.readouterr().out
    lines = [json.loads(line) for line in output.read_text().splitlines()]
    assert len(lines) == 20
    assert {line["outcome"] for line in lines} == {"passed"}
    assert cli.main([*common, "--policy", "empty"]) == 0
    assert "0 of 20 tasks solved" in capsys.readouterr().out
