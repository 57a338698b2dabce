"""Which messages are learned, which choose the settings, and which judge: draw_split by a seed, each kind its share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.errors import InputError
from deciban.mail.evaluation.labelled_mail import LABELS
from deciban.validation.splits import Stratified

Rows = NDArray[np.intp]
Sizes = tuple[int, int, int]

FORM = "three numbers of messages, to learn, to choose by and to judge by, as in 400/50/50"


def parse_sizes(text: str) -> Sizes:
    """What a split such as 400/50/50 says.

    >>> parse_sizes("400/50/50")
    (400, 50, 50)
    """
    parts = text.split("/")
    if len(parts) != 3 or not all(part.strip().isdecimal() and int(part) > 0 for part in parts):
        raise InputError(f"split {text!r}: a split is {FORM}")
    return int(parts[0]), int(parts[1]), int(parts[2])


def shares(size: int, counts: tuple[int, int]) -> tuple[int, int]:
    """How many of each label so many messages have, if their shares are those of all; at least one of each.

    >>> shares(50, (4150, 1897))
    (34, 16)
    """
    spam = min(size - 1, max(1, round(size * counts[1] / sum(counts))))
    return size - spam, spam


def draw_split(codes: NDArray[np.integer[Any]], sizes: Sizes, seed: int) -> tuple[Rows, Rows, Rows]:
    """Messages of the three parts, in a random order, none in two of them."""
    counts = int((codes == 0).sum()), int((codes == 1).sum())
    wanted = [_checked(size, counts) for size in sizes]
    _check_enough(wanted, counts)
    random = np.random.default_rng(seed)
    parts: list[list[Rows]] = [[], [], []]
    for code in range(len(LABELS)):
        order = random.permutation(np.flatnonzero(codes == code))
        ends = np.cumsum([want[code] for want in wanted])
        for part, rows in zip(parts, np.split(order[: ends[-1]], ends[:-1])):
            part.append(rows)
    learn, choose, judge = (random.permutation(np.concatenate(part)) for part in parts)
    return learn, choose, judge


def _checked(size: int, counts: tuple[int, int]) -> tuple[int, int]:
    if size < 2 or not all(counts):
        raise InputError(
            f"a part of {size} messages out of {counts[0]} ham and {counts[1]} spam cannot have both kinds. "
            f"Hint: give messages of both, and parts of two or more"
        )
    return shares(size, counts)


def _check_enough(wanted: list[tuple[int, int]], counts: tuple[int, int]) -> None:
    for code, label in enumerate(LABELS):
        need = sum(want[code] for want in wanted)
        if need > counts[code]:
            raise InputError(
                f"the split needs {need} {label}, and there are {counts[code]} (of {sum(counts)} messages). "
                f"Hint: smaller parts, or more mail"
            )


def draw_folds(codes: NDArray[np.integer[Any]], n_folds: int, seed: int) -> list[tuple[Rows, Rows]]:
    """Of each fold the messages to learn, in a random order, and those to judge by."""
    order = np.random.default_rng(seed).permutation(len(codes))
    fold = Stratified(n_folds).of(codes[order])
    if min(np.bincount(codes, minlength=2)) < n_folds:
        raise InputError(
            f"{n_folds} folds need {n_folds} messages of each label or more. Hint: fewer folds, or more mail"
        )
    return [(order[fold != k], order[fold == k]) for k in range(n_folds)]
