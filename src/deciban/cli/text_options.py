"""How texts are read, as the options of training say it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import typer

from deciban.errors import InputError

if TYPE_CHECKING:
    from deciban.text import Words


def words_from_options(
    ngrams: str | None, tokens: str | None, stop_words: str | None, presence: bool | None
) -> Words | None:
    """What the options say about words; None where they say nothing."""
    told: dict[str, object] = {
        "ngrams": None if ngrams is None else parse_ngrams(ngrams),
        "tokens": tokens,
        "stop": None if stop_words is None else read_stop_words(stop_words),
        "values": "presence" if presence else None,
    }
    told = {name: value for name, value in told.items() if value is not None}
    if not told:
        return None
    if "stop" in told and (tokens or "").startswith("characters"):
        raise typer.BadParameter(f"--stop-words leaves out words, and --tokens {tokens!r} has none")
    from deciban.text import Words

    return Words.from_dict(told)


def parse_ngrams(text: str) -> tuple[int, int]:
    """N, or LOW-HIGH.

    >>> parse_ngrams("2"), parse_ngrams("3-5")
    ((1, 2), (3, 5))
    """
    from deciban.text.words import MAX_NGRAM_LENGTH

    found = re.fullmatch(r"(?:([1-9]\d{0,5})-)?([1-9]\d{0,5})", text.strip(), re.ASCII)
    low, high = (int(found[1] or 1), int(found[2])) if found else (1, 0)
    if not low <= high <= MAX_NGRAM_LENGTH:
        raise typer.BadParameter(
            f"--ngrams wants a number from 1 to {MAX_NGRAM_LENGTH}, or two of them as in 3-5; not {text!r}"
        )
    return low, high


def read_stop_words(text: str) -> str | list[str]:
    """The name of a list, or the words of a file, small as texts are read: one a line, empty lines left out."""
    if text == "english":
        return text
    try:
        with open(text, encoding="utf-8-sig") as file:
            words = [line.strip().lower() for line in file]
    except (OSError, UnicodeDecodeError) as error:
        why = "is not in utf-8" if isinstance(error, UnicodeDecodeError) else (error.strerror or str(error)).lower()
        raise InputError(
            f"cannot read the stop words {text!r}: {why}. Hint: --stop-words english, or a file with a word a line"
        ) from None
    return [word for word in words if word]
