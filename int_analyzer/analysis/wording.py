"""Numbers in sentences: plain digits in groups of three, never with an exponent; shares as percentages."""

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


def percent(share: float) -> str:
    """A part of one as a percentage; small but not zero never shows as 0 %, nor almost all as 100 %."""
    if 0 < share < 0.001:
        return "<0.1 %"
    if 0.999 < share < 1:
        return ">99.9 %"
    text = f"{share * 100:.1f}" if share < 0.1 or 0.99 < share < 1 else f"{share * 100:.0f}"
    return f"{text.removesuffix('.0')} %"


def _decimals(value: float, digits: int) -> int:
    """Decimal places that show so many significant digits, at most nine."""
    return min(9, max(0, digits - 1 - math.floor(math.log10(abs(value))))) if value else 0
