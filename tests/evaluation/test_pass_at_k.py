"""Pass rates and their intervals."""

import numpy as np

from murphy_jax.evaluation.pass_at_k import estimate


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    random = np.random.default_rng(0)
    trials = 200
    covered = 0
    for trial in range(trials):
        result = estimate(random.random((60, 1)) < 0.4, resamples=400, seed=trial)
        covered += result.low <= 0.4 <= result.high
    assert 0.88 * trials <= covered <= 0.99 * trials


def test_attempts_at_one_task_do_not_narrow_the_interval() -> None:
    tasks = np.random.default_rng(0).random((40, 1)) < 0.5
    once, copied = estimate(tasks), estimate(np.repeat(tasks, 8, axis=1))
    assert once == copied


def test_a_certain_result_has_no_width() -> None:
    result = estimate(np.ones((5, 2), bool))
    assert (result.value, result.low, result.high) == (1.0, 1.0, 1.0)
