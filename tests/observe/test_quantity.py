"""Numbers as people read them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murphy_jax.observe import quantity


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (4.25, "4.2"),
        (92.4, "92"),
        (3100, "3.1k"),
        (31_000, "31k"),
        (999_700, "1.0M"),
        (1.2e7, "12M"),
        (2e9, "2.0G"),
    ],
)
def test_counts_and_rates_are_compact(value: float, text: str) -> None:
    assert quantity.compact(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.0123, "0.0123"), (-0.0174, "-0.0174"), (41.23, "41.2"), (2956.0, "2956"), (3.14e-6, "3.1e-06")],
)
def test_measurements_have_three_significant_digits(value: float, text: str) -> None:
    assert quantity.significant(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (45.2, "45 s"), (59.7, "1 min"), (125, "2 min"), (3600, "1 h 00 min"), (12_000, "3 h 20 min")],
)
def test_times_are_in_the_unit_a_person_would_use(seconds: float, text: str) -> None:
    assert quantity.duration(seconds) == text


def test_shares_are_per_cent() -> None:
    assert (quantity.percent(0.444), quantity.percent(0.444, 1)) == ("44 %", "44.4 %")


@pytest.mark.parametrize("value", [None, math.nan, math.inf, "0.5", True])
def test_what_is_not_a_finite_number_is_a_dash(value: object) -> None:
    for write in (quantity.fixed, quantity.percent, quantity.significant, quantity.compact, quantity.duration):
        assert write(value) == "-"


@given(st.floats(min_value=1e-4, max_value=1e6, exclude_max=True))
def test_significant_digits_are_within_half_a_unit_of_the_third(value: float) -> None:
    assert float(quantity.significant(value)) == pytest.approx(value, rel=0.0051)


@given(st.floats(min_value=0.01, max_value=1e12))
def test_compact_is_close_and_short(value: float) -> None:
    text = quantity.compact(value)
    factor = {"k": 1e3, "M": 1e6, "G": 1e9}.get(text[-1], 1.0)
    assert float(text.rstrip("kMG")) * factor == pytest.approx(value, rel=0.06, abs=0.05)
    assert len(text) <= 5
