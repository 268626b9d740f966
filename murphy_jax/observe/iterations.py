"""Held-out pass@1 after at most k iterations, before training and after it, side by side.

The intervals are those of each evaluation. The records hold no verdicts of single tasks, so the change has no paired
interval: it is the plain difference of the two rates.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from murphy_jax.observe.quantity import known


@dataclass(frozen=True, kw_only=True)
class Rate:
    """A pass rate with its 95 % interval, all in [0, 1]; the ends are None where the record has none."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, kw_only=True)
class Row:
    """One iteration: k, and the rate before and after; None where that evaluation did not go so far."""

    iteration: int
    before: Rate | None
    after: Rate | None

    @property
    def change(self) -> float | None:
        """After minus before, as a share."""
        if self.before is None or self.after is None:
            return None
        return self.after.value - self.before.value


def compare(before: Mapping[str, Any], after: Mapping[str, Any] | None) -> list[Row]:
    """The rows Iter-1..k of one or two records of evaluations.jsonl."""
    left, right = rates(before), rates(after or {})
    return [
        Row(iteration=iteration, before=left.get(iteration), after=right.get(iteration))
        for iteration in sorted(left.keys() | right.keys())
    ]


def rates(evaluation: Mapping[str, Any]) -> dict[int, Rate]:
    """The rate of each iteration of a record."""
    found = {}
    for entry in evaluation.get("iterations", ()):
        value = known(entry.get("pass_rate"))
        if value is not None:
            found[int(entry["iteration"])] = Rate(
                value=value, low=known(entry.get("low")), high=known(entry.get("high"))
            )
    return found


def first_and_last(
    evaluations: Sequence[Mapping[str, Any]],
) -> dict[str, tuple[Mapping[str, Any], Mapping[str, Any] | None]]:
    """For each benchmark, in order of appearance: its first evaluation, and its last if that is of a later step."""
    by_benchmark: dict[str, list[Mapping[str, Any]]] = {}
    for record in evaluations:
        by_benchmark.setdefault(str(record.get("benchmark", "held-out")), []).append(record)
    pairs: dict[str, tuple[Mapping[str, Any], Mapping[str, Any] | None]] = {}
    for benchmark, records in by_benchmark.items():
        ordered = sorted(records, key=lambda record: known(record.get("step")) or 0)
        first, last = ordered[0], ordered[-1]
        pairs[benchmark] = (first, last if last.get("step") != first.get("step") else None)
    return pairs
