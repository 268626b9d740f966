"""The configuration: strict, helpful, and equal to itself after a round trip."""

from pathlib import Path

import pytest

from murphy_jax import config
from murphy_jax.errors import UserError


def test_a_file_holds_only_what_differs_from_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("optimizer:\n  learning_rate: 1e-3\nrollout: {turns: 3}\n")
    settings = config.load(path, {})
    assert settings.optimizer.learning_rate == 1e-3
    assert settings.rollout == config.Rollout(turns=3)
    assert settings.credit == config.Credit()


def test_the_command_line_overrides_the_file(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("rollout: {turns: 3, group_size: 4}\n")
    settings = config.load(path, {"rollout.turns": "2", "rollout.context_buckets": "[64, 1024]"})
    assert (settings.rollout.turns, settings.rollout.group_size) == (2, 4)
    assert settings.rollout.context_buckets == (64, 1024)


def test_a_dumped_configuration_loads_as_the_same(tmp_path: Path) -> None:
    settings = config.load(None, {"credit.rule": "mers", "pruning.members": "4", "sft.examples": "10"})
    path = tmp_path / "config.yaml"
    path.write_text(config.dump(settings))
    assert config.load(path, {}) == settings


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        ({"rollut.turns": "2"}, "unknown key rollut. Did you mean rollout?"),
        ({"rollout.turn": "2"}, "unknown key rollout.turn. Did you mean turns?"),
        ({"model.architecture.hiden_size": "2"}, "Did you mean hidden_size?"),
        ({"rollout.turns": "two"}, 'rollout.turns is "two"'),
        ({"rollout.turns": "0"}, "rollout.turns is 0"),
        ({"rollout.turns": "2.5"}, "rollout.turns is 2.5"),
        ({"rollout.group_size": "true"}, "rollout.group_size is true"),
        ({"optimizer.learning_rate": ".nan"}, "optimizer.learning_rate"),
        ({"tasks.benchmark": "mpbb"}, "'repair', 'humaneval' or 'mbpp'"),
        ({"tasks": "3"}, "tasks is 3"),
        ({"training.steps": "[1"}, "--training.steps, line 1: not valid YAML"),
        ({"credit.normalise": "each"}, "no effect with credit.rule mars"),
        ({"rollout.turns": "1", "pruning.groups": "2"}, "no effect with rollout.turns 1"),
        ({"rollout.turns": "1", "credit.discount": "0.5"}, "nothing flows back"),
        ({"pruning.members": "9"}, "more than rollout.group_size 8"),
        ({"rollout.context_buckets": "[128, 64]"}, "increasing lengths"),
        ({"rollout.context_buckets": "[128, 512]"}, "rollout.max_context_tokens"),
        ({"model.folder": "x", "model.architecture.num_layers": "2"}, "exclude each other"),
        ({"model.architecture.num_layers": "2"}, "needs model.tokenizer"),
        ({"tasks.split": "test"}, "repair has train, heldout"),
        ({"tasks.path": "x.jsonl"}, "the repair family is generated"),
        ({"rollout.sampling.temperature": "0", "rollout.sampling.top_k": "5"}, "greedy"),
    ],
)
def test_a_mistake_is_one_sentence_that_names_the_key(overrides: dict[str, str], said: str) -> None:
    with pytest.raises(UserError) as caught:
        config.load(None, overrides)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_suggests_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "quickstart.yaml").write_text("{}")
    with pytest.raises(UserError, match=r"Did you mean .*quickstart\.yaml"):
        config.load(tmp_path / "quikstart.yaml", {})


@pytest.mark.parametrize("text", ["- 1\n", "just text\n", "a: [\n", "\x00"])
def test_a_file_that_is_no_mapping_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(text)
    with pytest.raises(UserError, match=r"run\.yaml"):
        config.load(path, {})


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        ({"rollout.group_size": "1"}, "a group of one has no advantage"),
        ({"rollout.sampling.temperature": "0"}, "teach nothing"),
        ({"evaluation.policy": "empty"}, "no effect in murphy train"),
        ({"sft.examples": "3"}, "no effect in murphy train"),
    ],
)
def test_training_refuses_what_only_it_cannot_do(overrides: dict[str, str], said: str) -> None:
    settings = config.load(None, overrides)
    with pytest.raises(UserError, match=said):
        config.check_training(settings)


def test_every_shipped_configuration_loads() -> None:
    paths = sorted((Path(__file__).parents[1] / "configs").glob("*.yaml"))
    assert paths
    for path in paths:
        config.load(path, {})
        first = path.read_text().splitlines()[0]
        assert first.startswith("# "), f"{path.name} does not begin with its command"
