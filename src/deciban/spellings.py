"""The spellings of a value: texts that stand for one level, class or flag in every reader, export and option."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

WORDS: Final = {"true": ("true", "yes"), "false": ("false", "no")}
"""The words of each truth value: of models and Arrow, of Python, of Excel and R, and of people."""

SHORT_WORDS: Final = {"true": ("t", "y", "1", "1.0"), "false": ("f", "n", "0", "0.0")}
"""The letters and digits of each truth value, which have this meaning only where every level is a truth value."""


def _by_spelling(*truths: Iterable[str]) -> Mapping[str, Sequence[str]]:
    """Return the words of each truth value in small and capital letters, by each of them."""
    cases = [dict.fromkeys(s for word in words for s in (word, word.capitalize(), word.upper())) for words in truths]
    return {spelling: tuple(spellings) for spellings in cases for spelling in spellings}


LONG_TRUTHS: Final = _by_spelling(*WORDS.values())
"""The spellings of a truth value in full, by each of them."""

TRUTHS: Final = _by_spelling(*(WORDS[truth] + SHORT_WORDS[truth] for truth in WORDS))
"""The spellings of a truth value, letters and digits too, by each of them."""

ZEROS: Final = ("0", "0.0", "-0", "-0.0")
"""The spellings of 0, whose sign is no difference."""

WHOLE_NUMBER = re.compile(r"-?[0-9]+(\.0)?", re.ASCII)


def is_flag(levels: Collection[str]) -> bool:
    """Return whether every level is a truth value, so that letters and digits are truth values too."""
    return len(levels) <= len(TRUTHS) and all(level in TRUTHS for level in levels)


def list_spellings(text: str, flag: bool) -> Sequence[str]:
    """Return all spellings of a value, itself among them; `flag`: letters and digits may be truth values.

    >>> list_spellings("7", False), list_spellings("no", False), list_spellings("a", True)
    (('7', '7.0'), ('false', 'False', 'FALSE', 'no', 'No', 'NO'), ('a',))
    """
    stem = text.removesuffix(".0")
    own = ZEROS if text in ZEROS else (stem, f"{stem}.0") if WHOLE_NUMBER.fullmatch(text) else (text,)
    return (TRUTHS if flag else LONG_TRUTHS).get(text, own)


def find_level(text: str, levels: Collection[str]) -> str:
    """Return the level that a text stands for: itself, else the one level of the same value, else the text.

    >>> find_level("TRUE", ["no", "yes"]), find_level("1", ["false", "true"]), find_level("2.0", ["1", "2"])
    ('yes', 'true', '2')
    >>> find_level("1", ["maybe", "no", "yes"]), find_level("true", ["True", "TRUE"])
    ('1', 'true')
    """
    if text in levels:
        return text
    found = [each for each in list_spellings(text, is_flag(levels)) if each in levels]
    return found[0] if len(found) == 1 else text


def spell_level(level: str, levels: Collection[str]) -> list[str]:
    """Return the texts that `find_level` takes for a level, itself first.

    >>> spell_level("1", ["1", "2"]), spell_level("1.0", ["1", "1.0"]), spell_level("a", ["a"])
    (['1', '1.0'], ['1.0'], ['a'])
    >>> spell_level("no", ["maybe", "no"]), spell_level("yes", ["YES", "yes"])
    (['no', 'false', 'False', 'FALSE', 'No', 'NO'], ['yes'])
    """
    spellings = list_spellings(level, is_flag(levels))
    is_only = sum(each in levels for each in spellings) == 1
    return [level, *(each for each in spellings if is_only and each != level)]
