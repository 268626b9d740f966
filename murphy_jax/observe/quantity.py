"""Numbers as people read them: `44 %`, `3.1k`, `2 min`. A missing or non-finite number is `-`."""

import math

MISSING = "-"


def known(value: object) -> float | None:
    """`value` as a finite float, or None (missing, null, NaN, not a number)."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def fixed(value: object, digits: int = 2) -> str:
    """With so many decimals: `0.41`."""
    number = known(value)
    return MISSING if number is None else f"{number:.{digits}f}"


def percent(share: object, digits: int = 0) -> str:
    """A share in [0, 1] as `44 %`."""
    number = known(share)
    return MISSING if number is None else f"{100 * number:.{digits}f} %"


def significant(value: object, digits: int = 3) -> str:
    """With so many significant digits, never in exponents between 0.0001 and a million: `0.0123`, `41.2`, `3.1e-06`."""
    number = known(value)
    if number is None:
        return MISSING
    if number == 0:
        return "0"
    exponent = math.floor(math.log10(abs(number)))
    if exponent < -4 or exponent > 5:
        return f"{number:.{digits - 2}e}"
    return f"{number:.{max(0, digits - 1 - exponent)}f}"


def compact(value: object) -> str:
    """A count or a rate in at most three digits: `92`, `3.1k`, `12M`."""
    number = known(value)
    if number is None:
        return MISSING
    for factor, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= 0.9995 * factor:
            scaled = number / factor
            return f"{scaled:.1f}{suffix}" if abs(scaled) < 9.95 else f"{scaled:.0f}{suffix}"
    return f"{number:.1f}" if abs(number) < 9.95 and number != int(number) else f"{number:.0f}"


def duration(seconds: object) -> str:
    """Elapsed or remaining time: `45 s`, `2 min`, `3 h 20 min`."""
    number = known(seconds)
    if number is None:
        return MISSING
    if number < 59.5:
        return f"{max(0.0, number):.0f} s"
    minutes = round(number / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
