"""How much a message weighs: less and less beside newer ones, in numbers whose sums are exact.

A message of time t weighs w(t) = 2^((t − origin) / half-life), rounded to six binary digits. Nothing fades in
place: what is new weighs more, so that counts need never be touched, and a model divides by the weight of now.
Between 2⁻¹² and 2¹² every weight is a multiple of 2⁻¹⁷, so that sums below 2³⁶ are exact in doubles and taking a
message away leaves precisely what was before. Long before 2¹² is reached, tidying takes a later origin and
counts again.
"""

from __future__ import annotations

import math
import sys
import time as clock
from dataclasses import dataclass
from typing import Final

from deciban.errors import InputError

DIGITS: Final = 5
"""Binary digits after the first: a weight is right to 1.6 %."""

REACH: Final = 12
"""Half-lives from the origin, either way, beyond which weights stay as they are."""

RENEW: Final = 8
"""Half-lives after which tidying takes a later origin."""

MAX_EXACT_WEIGHT: Final = 2.0**36
"""Sums of weights are exact below this: 16 million messages of the greatest weight."""


MAX_SECONDS: Final = sys.float_info.max
"""The largest number of seconds that is finite as a double."""


@dataclass(frozen=True, slots=True)
class Ageing:
    """A half-life in seconds, or None: all messages weigh 1.

    >>> Ageing(half_life=10.0, origin=100.0).weight(110.0)
    2.0
    >>> Ageing().weight(110.0)
    1.0
    """

    half_life: float | None = None
    origin: float | None = None

    def weight(self, time: float) -> float:
        """What a message of that time weighs."""
        if self.half_life is None or self.origin is None:
            return 1.0
        x = max(-REACH, min(REACH, (time - self.origin) / self.half_life))
        whole = math.floor(x)
        return math.ldexp(round(math.ldexp(2.0 ** (x - whole), DIGITS)), whole - DIGITS)

    def with_origin(self, time: float) -> Ageing:
        """The same with an origin, if it has none yet."""
        return self if self.half_life is None or self.origin is not None else Ageing(self.half_life, time)

    def is_due(self, newest: float) -> bool:
        """Whether a later origin should be taken."""
        return self.half_life is not None and (
            self.origin is None or (newest - self.origin) / self.half_life >= RENEW
        )


def check_half_life(half_life: float | None) -> float | None:
    """A half-life that can be used, in seconds."""
    if half_life is None:
        return None
    if not (_is_number(half_life) and 1.0 <= half_life <= MAX_SECONDS):
        raise InputError(f"half-life {half_life!r:.60}: it must be at least 1 second, or None for no ageing")
    return float(half_life)


def check_time(time: float | None) -> float:
    """A moment in seconds since 1970; None is now."""
    if time is None:
        return clock.time()
    if not (_is_number(time) and -MAX_SECONDS <= time <= MAX_SECONDS):
        raise InputError(f"time {time!r:.60}: a message's time must be a finite number of seconds since 1970")
    return float(time)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
