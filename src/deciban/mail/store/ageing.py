"""Weights of messages, which fall with age relative to newer ones, in numbers whose sums are exact.

A message of time t weighs w(t) = 2^((t − origin) / half-life), rounded to six binary digits. Stored weights do not
change: new messages weigh more, so that counts need never be updated, and a model divides by the weight of now.
Between 2⁻¹² and 2¹² every weight is a multiple of 2⁻¹⁷, so that sums below 2³⁶ are exact in doubles and taking a
message away leaves precisely what was before. Long before 2¹² is reached, tidying takes a later origin and
recounts.
"""

import math
import sys
import time as clock
from dataclasses import dataclass
from typing import Any, Final

from deciban.errors import InputError

WEIGHT_DIGITS: Final = 5
"""Binary digits of a weight after the first: it is right to 1.6 %."""

MAX_HALF_LIVES: Final = 12
"""Half-lives from the origin, either way, beyond which weights stay constant."""

RENEWAL_HALF_LIVES: Final = 8
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
        """Return the weight of a message of that time."""
        if self.half_life is None or self.origin is None:
            return 1.0
        x = max(-MAX_HALF_LIVES, min(MAX_HALF_LIVES, (time - self.origin) / self.half_life))
        exponent = math.floor(x)
        return math.ldexp(round(math.ldexp(2.0 ** (x - exponent), WEIGHT_DIGITS)), exponent - WEIGHT_DIGITS)

    def is_due(self, newest: float) -> bool:
        """Return whether a later origin should be taken."""
        return self.half_life is not None and (
            self.origin is None or (newest - self.origin) / self.half_life >= RENEWAL_HALF_LIVES
        )


def check_half_life(half_life: float | None) -> float | None:
    """Return a half-life in seconds, if it is valid."""
    if half_life is None:
        return None
    rule = "it must be at least 1 second, or None for no ageing"
    return float(check_number(half_life, "half-life", 1.0, MAX_SECONDS, rule))


def check_time(time: float | None) -> float:
    """Return a time in seconds since 1970, if it is valid; None is now."""
    if time is None:
        return clock.time()
    rule = "a message's time must be a finite number of seconds since 1970"
    return float(check_number(time, "time", -MAX_SECONDS, MAX_SECONDS, rule))


def check_number(value: Any, name: str, least: float, most: float, rule: str, kind: type = float) -> Any:
    """Return a value as a number of type `kind`, if it is from `least` to `most`; `rule` is the reason why not."""
    if not is_number(value, least, most, only=int if kind is int else object):
        raise InputError(f"{name} {value!r:.60}: {rule}")
    return kind(value)


def is_number(value: object, least: float, most: float, only: type = object) -> bool:
    """Return whether a value is a number from `least` to `most`, not a bool, and of type `only`."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not isinstance(value, only):
        return False
    return bool(least <= value <= most)
