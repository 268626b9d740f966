"""One jitted credit pass over a million nodes against the node-by-node recursion, in one run.

    python tests/bench/credit.py

Goals: equal results, at least 100 times faster, under 10 ms (median). Times are those of this machine and of what else
runs on it, so only a difference in the results makes the exit code 1.
"""

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.table import Table

from murphy_jax.method import credit
from murphy_jax.method.tree import num_groups
from tests.method import reference

GROUP_SIZE, NUM_TURNS, NUM_TESTS = 8, 3, 8
MIN_NODES = 1_000_000
REPEATS = 31
TOLERANCE = 1e-6
MIN_SPEEDUP, MAX_SECONDS = 100.0, 0.010


def random_trees() -> tuple[np.ndarray, np.ndarray]:
    """Rewards k / 8 of at least `MIN_NODES` nodes; every sampled node that failed is expanded."""
    groups = num_groups(GROUP_SIZE, NUM_TURNS)
    shape = (-(-MIN_NODES // (groups * GROUP_SIZE)), groups, GROUP_SIZE)
    rng = np.random.default_rng(0)
    reward = (rng.integers(0, NUM_TESTS + 1, shape) / NUM_TESTS).astype(np.float32)
    expanded = reward < 1
    inner = num_groups(GROUP_SIZE, NUM_TURNS - 1)
    expanded[:, inner:] = False
    expanded[:, 1:] &= expanded.reshape(shape[0], -1)[:, : groups - 1, None]
    return reward, expanded


def median_seconds(run: Callable[[], jax.Array]) -> float:
    run().block_until_ready()
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        run().block_until_ready()
        times.append(time.perf_counter() - began)
    return float(np.median(times))


def recurse(rule: Callable[..., list[float]], reward: np.ndarray, expanded: np.ndarray) -> tuple[np.ndarray, float]:
    """Credit of all trees node by node, and the seconds of the recursion alone."""
    size = reward.shape[-1]
    rows = [(r.ravel().tolist(), e.ravel().tolist()) for r, e in zip(reward, expanded, strict=True)]
    began = time.perf_counter()
    values = [rule(*row, group_size=size) for row in rows]
    seconds = time.perf_counter() - began
    return np.asarray(values, np.float32).reshape(reward.shape), seconds


def cases() -> dict[str, tuple[Callable[..., jax.Array], Callable[..., list[float]], float]]:
    """Name -> (array program, recursion, tolerance); MaRS only picks rewards, so it is exact."""
    readings: dict[str, Any] = {}
    for reading in ("each", "end", "none"):
        settings: dict[str, Any] = {"num_turns": NUM_TURNS, "discount": 0.9, "normalise": reading}
        readings[f"mers {reading}"] = (
            partial(credit.mers, **settings),
            partial(reference.mers, **settings),
            TOLERANCE,
        )
    mars = (partial(credit.mars, num_turns=NUM_TURNS), partial(reference.mars, discount=1.0), 0.0)
    return {"mars": mars, **readings}


def verdict(good: bool) -> str:
    return "PASS" if good else "FAIL"


def main() -> int:
    """Print the table; 1 if any result differs."""
    reward, expanded = random_trees()
    arrays = jnp.asarray(reward), jnp.asarray(expanded)
    table = Table(title=f"credit of {reward.size:,} nodes, G = {GROUP_SIZE}, S = {NUM_TURNS}, {jax.devices()[0]}")
    for column in ("rule", "equal", "recursion, s", "jitted, ms", "< 10 ms", "times faster", ">= 100"):
        table.add_column(column, justify="right")
    all_equal = True
    for name, (rule, recursion, tolerance) in cases().items():
        program = jax.jit(rule)
        seconds = median_seconds(partial(program, *arrays))
        expected, slow = recurse(recursion, reward, expanded)
        equal = np.allclose(program(*arrays), expected, rtol=tolerance, atol=tolerance)
        all_equal &= equal
        fast, speedup = seconds < MAX_SECONDS, slow / seconds
        numbers = (f"{slow:.2f}", f"{seconds * 1e3:.2f}", verdict(fast), f"{speedup:,.0f}")
        table.add_row(name, verdict(equal), *numbers, verdict(speedup >= MIN_SPEEDUP))
    Console().print(table)
    return 0 if all_equal else 1


if __name__ == "__main__":
    sys.exit(main())
