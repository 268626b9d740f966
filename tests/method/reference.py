"""The method node by node in plain Python: what the array programs are compared with.

One prompt's tree at a time, as flat lists in level order: the children of node n are the nodes of group n + 1.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Literal

Reading = Literal["each", "end", "none"]


def mars(reward: Sequence[float], expanded: Sequence[bool], *, group_size: int, discount: float) -> list[float]:
    def rule(own: float, children: list[float], _: int) -> float:
        return max(own, discount * max(children))

    return _credit(reward, expanded, group_size, rule)


def mers(
    reward: Sequence[float],
    expanded: Sequence[bool],
    *,
    group_size: int,
    num_turns: int,
    discount: float,
    normalise: Reading,
) -> list[float]:
    def rule(own: float, children: list[float], turn: int) -> float:
        value = own + discount * sum(children) / len(children)
        return value / (num_turns - turn + 1) if normalise == "each" else value

    values = _credit(reward, expanded, group_size, rule)
    if normalise != "end":
        return values
    return [
        value / (num_turns - turn_of(node, group_size) + 1) if expanded[node] else value
        for node, value in enumerate(values)
    ]


def _credit(
    reward: Sequence[float],
    expanded: Sequence[bool],
    group_size: int,
    rule: Callable[[float, list[float], int], float],
) -> list[float]:
    values = [0.0] * len(reward)

    def visit(node: int, turn: int) -> float:
        value = reward[node]
        if expanded[node]:
            children = range((node + 1) * group_size, (node + 2) * group_size)
            value = rule(value, [visit(child, turn + 1) for child in children], turn)
        values[node] = value
        return value

    for node in range(group_size):
        visit(node, 1)
    return values


def visited_groups(expanded: Sequence[bool], *, group_size: int) -> list[int]:
    """The sampled groups, in level order."""
    groups = [0]
    for group in groups:
        groups.extend(node + 1 for node in range(group * group_size, (group + 1) * group_size) if expanded[node])
    return groups


def turn_of(node: int, group_size: int) -> int:
    group = node // group_size
    return 1 if group == 0 else 1 + turn_of(group - 1, group_size)


def ratio(value: float) -> Fraction:
    """The ratio of small integers that a float32 reward stands for."""
    return Fraction(float(value)).limit_denominator(100)


def variance(values: Sequence[Fraction]) -> Fraction:
    """Population variance without rounding, so that ties are ties."""
    mean = sum(values, Fraction(0)) / len(values)
    return sum(((value - mean) ** 2 for value in values), Fraction(0)) / len(values)


def keep_groups(credit: Sequence[Sequence[Fraction]], visited: Sequence[int], *, budget: int) -> set[int]:
    later = [group for group in visited if group > 0]
    by_spread = sorted(later, key=lambda group: (-variance(credit[group]), group))
    return {0, *by_spread[:budget]}


def largest_variance(credit: Sequence[Fraction], *, budget: int) -> Fraction:
    """Of all subsets of that many members."""
    return max(variance(subset) for subset in combinations(credit, budget))
