"""Money, exactly: whole billionths of a US dollar inside, rounded once to cents for people.

A stream tells dollars as a decimal number, in parts of a cent. As binary fractions such numbers
drift when they are added and fall on the wrong side of half a cent; as whole billionths they
cannot: the price of a token is a whole number of them.
"""

from __future__ import annotations

import math
from typing import Final

NANOS: Final = 10**9
"""Billionths in a dollar."""
NANOS_A_CENT: Final = NANOS // 100
_USD_MAX: Final = 10**13
"""No sum that a machine line can hold is larger."""


def nanos_of(usd: float) -> int:
    """The nearest whole number of billionths; 0 for what is no amount (negative, not finite)."""
    if not math.isfinite(usd) or usd <= 0:
        return 0
    return round(min(usd, _USD_MAX) * NANOS)


def usd_of(nanos: int) -> float:
    return nanos / NANOS


def cents_of(nanos: int) -> int:
    """Rounded to the nearest cent, half a cent up."""
    return (nanos + NANOS_A_CENT // 2) // NANOS_A_CENT


def dollars(cents: int) -> str:
    """`$1.84`"""
    return f"${cents // 100}.{cents % 100:02}"
