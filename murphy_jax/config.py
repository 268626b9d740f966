"""The configuration of a run: a YAML file holds what differs from these defaults, the command line overrides the file.

Every key is checked: an unknown key, a value of the wrong type, a combination that cannot work and an option that would
have no effect are refused with one sentence that names the dotted key.
"""

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from murphy_jax.errors import UserError


class Section(BaseModel):
    """Base of all sections: immutable, strict types, no unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Architecture(Section):
    """Sizes of a randomly initialised Qwen3; a checkpoint brings its own."""

    hidden_size: int = Field(192, ge=8, description="width of the residual stream")
    intermediate_size: int = Field(512, ge=8, description="width inside the MLP")
    num_layers: int = Field(4, ge=1)
    num_heads: int = Field(6, ge=1)
    num_kv_heads: int = Field(2, ge=1, description="key/value heads; divides num_heads")
    head_dim: int = Field(32, ge=2, multiple_of=2)


class Model(Section):
    """Which policy to start from."""

    folder: str | None = Field(
        None, description="HF folder with config.json, weights and tokenizer; `asset:NAME` ships"
    )
    architecture: Architecture | None = Field(None, description="random initialisation instead of a folder")
    tokenizer: str | None = Field(None, description="HF tokenizer folder, where it is not the model's own")
    dtype: Literal["float32", "bfloat16"] = Field("float32", description="compute type; parameters stay float32")


class Tasks(Section):
    """What to train on, or to evaluate on."""

    benchmark: Literal["repair", "humaneval", "mbpp"] = "repair"
    path: str | None = Field(None, description="the benchmark's file, where it is not the one that ships")
    split: Literal["train", "heldout", "validation", "test", "prompt", "all"] | None = Field(
        None,
        description="repair: train, heldout; mbpp: train, validation, test, prompt, all; humaneval: all. "
        "Default: all; of repair train, or heldout to evaluate",
    )
    count: int | None = Field(
        None, ge=1, description="tasks to take; repair: to generate, by default 2,000, or 64 to evaluate"
    )
    seed: int = Field(0, ge=0, description="repair: seed of the generator")


class Sampling(Section):
    """How tokens are drawn."""

    temperature: float = Field(1.0, ge=0.0, description="0 is greedy")
    top_k: int = Field(0, ge=0, description="0 keeps all tokens")
    top_p: float = Field(1.0, gt=0.0, le=1.0)


class Rollout(Section):
    """The tree: breadth, depth, lengths."""

    turns: int = Field(2, ge=1, le=8, description="S: the first attempt and S - 1 repairs; 1 is plain GRPO")
    group_size: int = Field(8, ge=1, description="G: siblings sampled from one context")
    prompts_per_step: int = Field(8, ge=1, description="P: tasks of one training step")
    max_context_tokens: int = Field(1024, ge=16)
    max_completion_tokens: int = Field(512, ge=1)
    context_buckets: tuple[int, ...] = Field(
        (), description="lengths that contexts are padded to; empty: a quarter, a half, all"
    )
    groups_per_batch: int = Field(16, ge=1, description="sibling groups decoded together")
    history: Literal["last", "all"] = Field("last", description="attempts shown in a repair prompt")
    feedback_characters: int = Field(1500, ge=80)
    sampling: Sampling = Sampling()


class Credit(Section):
    """How rewards flow back through the tree."""

    rule: Literal["mars", "mers"] = "mars"
    discount: float | None = Field(None, ge=0.0, le=1.0, description="default: 1 for mars, 0.9 for mers")
    normalise: Literal["each", "end", "none"] | None = Field(None, description="mers only; default each")


class Pruning(Section):
    """What leaves the update after everything was generated and scored; null keeps all."""

    groups: int | None = Field(None, ge=0, description="InterP: sibling groups kept a prompt, beside the first turn's")
    members: int | None = Field(None, ge=2, description="IntraP: members kept in a group of turn 2 or later")


class Objective(Section):
    """The GRPO objective."""

    advantage: Literal["std", "none", "leave-one-out"] = Field("std", description="scale of the group advantage")
    clip_low: float = Field(0.2, ge=0.0, lt=1.0)
    clip_high: float = Field(0.2, ge=0.0)
    kl_coefficient: float = Field(0.0, ge=0.0, description="weight of the k3 KL to the initial policy; 0 is none")
    aggregate: Literal["token", "sequence"] = Field(
        "token", description="mean over all tokens, or over sequences' means"
    )


class Optimizer(Section):
    """AdamW with a schedule and gradient clipping."""

    learning_rate: float = Field(1e-6, gt=0.0)
    schedule: Literal["constant", "linear", "cosine"] = Field("constant", description="after the warm-up; decays to 0")
    warmup_steps: int = Field(0, ge=0)
    weight_decay: float = Field(0.0, ge=0.0)
    b1: float = Field(0.9, ge=0.0, lt=1.0)
    b2: float = Field(0.99, ge=0.0, lt=1.0)
    eps: float = Field(1e-8, gt=0.0, description="of Adam; above the noise of gradients that are nearly 0")
    max_grad_norm: float = Field(1.0, gt=0.0)


class Training(Section):
    """The run: where, how long, how often it is saved."""

    directory: str = Field("runs/run", description="the run folder")
    steps: int = Field(100, ge=1)
    seed: int = Field(0, ge=0)
    epochs: int = Field(1, ge=1, description="optimizer steps on one rollout")
    groups_per_microbatch: int = Field(16, ge=1, description="sibling groups of one gradient accumulation step")
    save_every: int = Field(20, ge=1, description="steps between checkpoints")
    keep_checkpoints: int = Field(2, ge=1)
    tree_every: int = Field(10, ge=0, description="steps between recorded trees; 0 records none")
    trees_per_record: int = Field(4, ge=1)
    compilation_cache: str | None = Field(
        "~/.cache/murphy_jax/xla", description="folder of compiled programs; null: none"
    )


class Evaluation(Section):
    """Held-out pass@1 after at most k iterations of propose, execute, repair."""

    tasks: Tasks = Tasks()
    policy: Literal["model", "reference", "empty"] = "model"
    iterations: int = Field(3, ge=1, le=10)
    samples: int = Field(1, ge=1, description="attempts at every task, averaged")
    attempts_per_batch: int = Field(64, ge=1, description="contexts decoded together")
    every: int = Field(0, ge=0, description="steps between evaluations beside the ones before and after; 0: none")
    sampling: Sampling = Sampling()
    output: str | None = Field(
        None, description="murphy evaluate: file that the verdicts are written to, a line a task"
    )


class Sandbox(Section):
    """Limits of one program (all of its tests together)."""

    cpu_seconds: float = Field(3.0, gt=0.0)
    wall_seconds: float = Field(15.0, gt=0.0)
    memory_megabytes: int = Field(512, ge=16)
    workers: int | None = Field(None, ge=1, description="default: one a core")
    max_infra_share: float = Field(0.05, ge=0.0, le=1.0, description="share of grader faults that stops a run")


class Sft(Section):
    """Supervised warm start on solved examples of the repair family."""

    examples: int = Field(8192, ge=1)
    repair_share: float = Field(0.5, ge=0.0, le=1.0, description="share of repair-turn examples")
    repeat_share: float = Field(
        0.0, ge=0.0, le=1.0, description="share of the repair-turn examples that repeat the attempt, feedback unheeded"
    )
    batch_size: int = Field(64, ge=1)


class Config(Section):
    """All of a run."""

    model: Model = Model()
    tasks: Tasks = Tasks()
    rollout: Rollout = Rollout()
    credit: Credit = Credit()
    pruning: Pruning = Pruning()
    objective: Objective = Objective()
    optimizer: Optimizer = Optimizer()
    training: Training = Training()
    evaluation: Evaluation = Evaluation()
    sandbox: Sandbox = Sandbox()
    sft: Sft | None = None


def load(path: Path | None, overrides: Mapping[str, str]) -> Config:
    """The configuration of `path` with dotted `overrides` (YAML values as text) applied.

    Raises:
        UserError: the file cannot be read, or a key, type or combination is not allowed.
    """
    data = _read_yaml(path) if path is not None else {}
    for key, text in overrides.items():
        _set(data, key, _parse(text, source=f"--{key}"))
    try:
        config = Config.model_validate_json(json.dumps(data))
    except (ValidationError, TypeError, ValueError) as error:
        raise UserError(f"{path or 'configuration'}: {_explain(error)}") from None
    _check_combinations(config)
    return config


def dump(config: Config) -> str:
    """The resolved configuration as YAML; loading it gives the same configuration."""
    return yaml.safe_dump(config.model_dump(mode="json", exclude_unset=False), sort_keys=False, allow_unicode=True)


class _Loader(yaml.SafeLoader):
    """YAML 1.1 reads `1e-6` as text; this one reads it as a number, as everybody expects."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?(\d+(\.\d*)?|\.\d+)[eE][-+]?\d+$"), list("-+0123456789.")
)


def _parse(text: str, *, source: str) -> Any:
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        place = (
            f", line {error.problem_mark.line + 1}"
            if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark
            else ""
        )
        raise UserError(f"{source}{place}: not valid YAML ({str(error).splitlines()[0]}).") from None


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        near = difflib.get_close_matches(path.name, [p.name for p in path.parent.glob("*.yaml")], n=1)
        hint = f" Did you mean {path.parent / near[0]}?" if near else ""
        raise UserError(f"Cannot read the configuration {path}: {reason}.{hint}") from None
    data = _parse(text, source=str(path))
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise UserError(f"{path}: a configuration is a mapping of sections, not a {type(data).__name__}.")
    return data


def _set(data: dict[str, Any], dotted: str, value: Any) -> None:
    *parents, leaf = dotted.split(".")
    for name in parents:
        child = data.setdefault(name, {})
        if child is None:
            child = data[name] = {}
        if not isinstance(child, dict):
            raise UserError(f"--{dotted}: {name} is a value, not a section.")
        data = child
    data[leaf] = value


def _explain(error: Exception) -> str:
    """The first problem as one sentence; near names for an unknown key."""
    if not isinstance(error, ValidationError):
        return f"the configuration cannot be represented as data ({error})."
    problem = error.errors()[0]
    location = [str(part) for part in problem["loc"]]
    dotted = ".".join(location)
    if problem["type"] == "extra_forbidden":
        allowed = sorted(_fields(location[:-1]))
        near = difflib.get_close_matches(location[-1], allowed, n=2)
        hint = f"Did you mean {' or '.join(near)}?" if near else f"Allowed here: {', '.join(allowed)}."
        return f"unknown key {dotted}. {hint}"
    given = json.dumps(problem.get("input"), default=str)
    rule = problem["msg"][0].lower() + problem["msg"][1:]
    return f"{dotted} is {given}: {rule}."


def _fields(location: Sequence[str]) -> list[str]:
    section: type[BaseModel] = Config
    for name in location:
        annotation = section.model_fields[name].annotation
        candidates = [annotation, *getattr(annotation, "__args__", ())]
        section = next(c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel))
    return list(section.model_fields)


def _check_combinations(config: Config) -> None:
    """Refuse what cannot work, and every option that would silently do nothing."""
    rollout, credit, pruning, model = config.rollout, config.credit, config.pruning, config.model
    splits = {
        "repair": ("train", "heldout"),
        "humaneval": ("all",),
        "mbpp": ("train", "validation", "test", "prompt", "all"),
    }
    for name, tasks in (("tasks", config.tasks), ("evaluation.tasks", config.evaluation.tasks)):
        allowed = splits[tasks.benchmark]
        _refuse(
            tasks.split is not None and tasks.split not in allowed,
            f"{name}.split is {tasks.split}, but {tasks.benchmark} has {', '.join(allowed)}. Set it to one of them.",
        )
        _refuse(
            tasks.benchmark == "repair" and tasks.path is not None,
            f"{name}.path has no effect: the repair family is generated. Remove it, or set {name}.benchmark.",
        )
    _refuse(
        model.folder is not None and model.architecture is not None,
        "model.folder and model.architecture exclude each other: a checkpoint brings its own sizes. Remove one.",
    )
    _refuse(
        model.architecture is not None and model.tokenizer is None,
        "model.architecture needs model.tokenizer: a random model has no tokenizer of its own.",
    )
    _refuse(
        credit.rule == "mars" and credit.normalise is not None,
        "credit.normalise has no effect with credit.rule mars. Remove it, or set credit.rule to mers.",
    )
    _refuse(
        rollout.turns == 1 and (pruning.groups is not None or pruning.members is not None),
        "pruning has no effect with rollout.turns 1: it concerns turn 2 and later. Remove the pruning section.",
    )
    _refuse(
        rollout.turns == 1 and credit.discount is not None,
        "credit.discount has no effect with rollout.turns 1: nothing flows back. Remove it.",
    )
    _refuse(
        pruning.members is not None and pruning.members > rollout.group_size,
        f"pruning.members is {pruning.members}, more than rollout.group_size {rollout.group_size}. Lower it.",
    )
    buckets = rollout.context_buckets
    _refuse(
        bool(buckets)
        and (list(buckets) != sorted(set(buckets)) or buckets[-1] != rollout.max_context_tokens or buckets[0] < 1),
        f"rollout.context_buckets is {list(buckets)}: give increasing lengths that end with rollout.max_context_tokens "
        f"({rollout.max_context_tokens}).",
    )
    for name, sampling in (("rollout", rollout.sampling), ("evaluation", config.evaluation.sampling)):
        _refuse(
            sampling.temperature == 0 and (sampling.top_k != 0 or sampling.top_p != 1.0),
            f"{name}.sampling.top_k and top_p have no effect at temperature 0, which is greedy. Remove them.",
        )


def check_training(config: Config) -> None:
    """Refuse what only `murphy train` cannot do.

    Raises:
        UserError: the configuration cannot train.
    """
    _refuse(config.sft is not None, "The section sft has no effect in murphy train. Remove it, or run murphy sft.")
    _refuse(
        config.rollout.group_size < 2,
        "rollout.group_size is 1: a group of one has no advantage. Set it to 2 or more.",
    )
    _refuse(
        config.rollout.sampling.temperature == 0,
        "rollout.sampling.temperature is 0: greedy siblings are all the same and teach nothing. Set it above 0.",
    )
    _refuse(
        config.evaluation.policy != "model" or config.evaluation.output is not None,
        "evaluation.policy and evaluation.output have no effect in murphy train. Remove them, or run murphy evaluate.",
    )


def _refuse(wrong: bool, sentence: str) -> None:
    if wrong:
        raise UserError(sentence)
