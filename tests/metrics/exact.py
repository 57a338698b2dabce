"""Mutual information of an exact table of probabilities, in fractions."""

import math
from fractions import Fraction


def mutual(table):
    """Compute I(X;Y|C) of a table of probabilities by (c, x, y), by its definition."""

    def of(*places):
        found = {}
        for key, p in table.items():
            part = tuple(key[i] for i in places)
            found[part] = found.get(part, Fraction(0)) + p
        return found

    class_, first, second = of(0), of(0, 1), of(0, 2)
    return sum(
        float(p) * math.log(p * class_[c,] / (first[c, x] * second[c, y])) for (c, x, y), p in table.items() if p
    )
