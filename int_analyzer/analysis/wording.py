"""Numbers in sentences: plain digits in groups of three, never with an exponent."""

from __future__ import annotations

import math

_GROUPED = 10_000
"""From here on in groups of three."""


def plain(value: float, digits: int = 3) -> str:
    """A number with so many significant digits, its whole part in full: 0.12, 3.5, 550, 20 000."""
    if not math.isfinite(value):
        return "∞" if value > 0 else str(value)
    whole = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    text = f"{value:,.0f}" if whole >= digits else f"{float(f'{value:.{digits}g}'):,.{_decimals(value, digits)}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text.replace(",", " " if abs(value) >= _GROUPED else "")


def things(number: int, noun: str) -> str:
    """ "1 packet", "3 packets"."""
    return f"{plain(number)} {noun}{'' if number == 1 else 's'}"


def _decimals(value: float, digits: int) -> int:
    """Decimal places that show so many significant digits, at most nine."""
    return min(9, max(0, digits - 1 - math.floor(math.log10(abs(value))))) if value else 0
