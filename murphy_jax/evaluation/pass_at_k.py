"""Pass rates and how sure they are.

    pass@1 = mean over tasks of the share of a task's attempts that solved it

The interval is a percentile bootstrap over tasks: attempts at one task are not independent of each other.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A pass rate with its 95 % interval, all in [0, 1]."""

    value: float
    low: float
    high: float


def estimate(solved: np.ndarray, *, resamples: int = 2000, seed: int = 0) -> Estimate:
    """The pass rate of `solved` (bool [tasks, attempts]) and its interval.

    >>> estimate(np.array([[True, True], [False, True]])).value
    0.75
    """
    assert solved.ndim == 2, f"solved is [tasks, attempts], not {solved.shape}"
    rates = solved.mean(axis=1)
    draws = np.random.default_rng(seed).integers(len(rates), size=(resamples, len(rates)))
    low, high = np.quantile(rates[draws].mean(axis=1), [0.025, 0.975])
    return Estimate(value=float(rates.mean()), low=float(low), high=float(high))
