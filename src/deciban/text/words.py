"""Words: how a text is read, as a value that models carry; and the reading itself, in plain Python.

This is the definition; `deciban.kernels.tokenizer` does the same for large input. The words are those of sklearn's
CountVectorizer.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from numbers import Integral
from typing import Any, Literal, Self, get_args

from deciban.errors import InputError, SchemaError

Tokens = Literal["words", "whitespace", "characters", "characters in words"]
Values = Literal["counts", "presence", "log"]
Length = Literal["l1", "l2"]

Span = tuple[str, int, int]
"""A token, and from which to which character it stands in the text."""

MOST_BITS = 24
"""Columns of a hashed vocabulary are at most 2 to this power."""

MAX_NGRAM_LENGTH = 100
"""Tokens that one n-gram holds at most, in fitting and in model files: memory and time grow with it."""

SPACES = re.compile(r"\s\s+")
PATTERNS: Mapping[str, str] = {"words": r"\w+", "whitespace": r"\S+"}


@dataclass(frozen=True)
class Words:
    r"""How a text is read.

    `tokens`: runs of word characters (`\w`), what whitespace separates, or single characters, of the whole text or of
    each word with a space on either side. `ngrams`: from how many to how many neighbours are taken together; 2 means
    1 to 2. `stop`: words that are left out, "english" for scikit-learn's list. `least_length`: shorter words are left
    out (2; between whitespace 1). `values`: a word counts as often as it occurs, once, or ln(1 + times).
    `length`: a document's values are divided by their sum (l1) or Euclidean length (l2). `hashed`: so many bits of a
    hash stand for a word, and no words are kept.

    >>> Words().tokens_of("The cat, the hat; a bat.")
    ['the', 'cat', 'the', 'hat', 'bat']
    >>> Words(ngrams=2, stop=["the"]).tokens_of("The cat, the hat")
    ['cat', 'hat', 'cat hat']
    """

    lower: bool = True
    tokens: Tokens = "words"
    ngrams: int | tuple[int, int] = 1
    stop: Sequence[str] | Literal["english"] | None = None
    least_length: int | None = None
    values: Values = "counts"
    length: Length | None = None
    hashed: int | None = None

    def __post_init__(self) -> None:
        self._check_choices()
        low, high = self._grams()
        object.__setattr__(self, "ngrams", (low, high))
        object.__setattr__(self, "stop", self._stops())
        least = 1 if self.tokens == "whitespace" else 2
        object.__setattr__(self, "least_length", self._least(least))

    def _check_choices(self) -> None:
        choices: dict[str, tuple[Any, ...]] = {
            "tokens": get_args(Tokens),
            "values": get_args(Values),
            "length": (None, *get_args(Length)),
            "lower": (True, False),
        }
        for name, allowed in choices.items():
            value = getattr(self, name)
            if not isinstance(value, (str, bool, type(None))) or value not in allowed:
                raise InputError(f"{name} must be one of {', '.join(map(repr, allowed))}, not {value!r}")
        if self.hashed is not None:
            if not _whole(self.hashed) or not 1 <= self.hashed <= MOST_BITS:
                raise InputError(f"hashed must be a number of bits from 1 to {MOST_BITS}, not {self.hashed!r}")
            object.__setattr__(self, "hashed", int(self.hashed))

    def _grams(self) -> tuple[int, int]:
        given: Any = (1, self.ngrams) if _whole(self.ngrams) else self.ngrams
        if isinstance(given, (tuple, list)) and len(given) == 2 and all(map(_whole, given)):
            low, high = given
            if 1 <= low <= high <= MAX_NGRAM_LENGTH:
                return int(low), int(high)
        raise InputError(
            f"ngrams must be a whole number from 1 to {MAX_NGRAM_LENGTH}, or two of them, low ≤ high; "
            f"not {self.ngrams!r}"
        )

    def _stops(self) -> tuple[str, ...] | None:
        given: Any = self.stop
        if isinstance(given, str):
            if given != "english":
                raise InputError(f"stop must be 'english' or a list of words, not {given!r}")
            from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

            given = ENGLISH_STOP_WORDS
        if given is None:
            return None
        if not isinstance(given, Iterable):
            raise InputError(f"stop must be 'english' or a list of words, not {given!r}")
        given = list(given)
        if not given:
            return None
        if self.by_character:
            raise InputError(f"stop words have no meaning where tokens={self.tokens!r}. Hint: tokens='words'")
        if not all(isinstance(word, str) for word in given):
            raise InputError("stop words must be texts")
        return tuple(sorted(set(given)))

    def _least(self, usual: int) -> int | None:
        if self.by_character:
            if self.least_length is not None:
                raise InputError(f"least_length has no meaning where tokens={self.tokens!r}. Hint: ngrams=(3, 5)")
            return None
        if self.least_length is None:
            return usual
        if not _whole(self.least_length) or self.least_length < 1:
            raise InputError(f"least_length must be a whole number ≥ 1, not {self.least_length!r}")
        return int(self.least_length)

    @property
    def by_character(self) -> bool:
        """Whether tokens are characters."""
        return self.tokens in ("characters", "characters in words")

    @property
    def span(self) -> tuple[int, int]:
        """From how many to how many tokens are taken together."""
        assert isinstance(self.ngrams, tuple)
        return self.ngrams

    @property
    def n_columns(self) -> int:
        """How many columns a hashed vocabulary has; none where the words are kept."""
        return 0 if self.hashed is None else 1 << self.hashed

    @property
    def whole(self) -> bool:
        """Whether every value is a whole number."""
        return self.values != "log" and self.length is None

    def to_dict(self) -> dict[str, Any]:
        """The specification as JSON has it."""
        told = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in told.items()}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Self:
        """What `to_dict` told; refused where it is none."""
        known = {field.name for field in fields(cls)}
        strange = [name for name in told if name not in known]
        if strange:
            raise InputError(f"words are not specified by {strange[0]!r}. Hint: one of {', '.join(sorted(known))}")
        given: dict[str, Any] = {n: tuple(value) if isinstance(value, list) else value for n, value in told.items()}
        return cls(**given)

    @classmethod
    def given(cls, value: Any) -> Words:
        """The reading that a user gives: a specification, what differs in it from the usual one, or None for that."""
        if value is None or isinstance(value, Words):
            return value or cls()
        if isinstance(value, Mapping):
            return cls.from_dict(value)
        raise InputError(
            f"words must be deciban.Words or a mapping of its arguments, not {value!r}. Hint: words={{'ngrams': 2}}"
        )

    @cached_property
    def reading(self) -> str:
        """What differs from the usual reading, in writing: equal for equal specifications, and only for them."""
        usual = Words(tokens=self.tokens)
        told = {name: value for name, value in self.to_dict().items() if value != usual.to_dict()[name]}
        listed = told.pop("stop", None)
        told |= {} if listed is None else {"stop": f"{len(listed)} words, {_digest(listed)}"}
        more = "".join(f", {name}={value}" for name, value in told.items())
        return f"{self.tokens} of a text{more}"

    @property
    def fingerprint(self) -> str:
        """A short name for exactly this reading."""
        return _digest(self.to_dict())

    def difference(self, other: Words) -> str:
        """The first thing in which two readings differ; empty where they are the same."""
        mine, theirs = self.to_dict(), other.to_dict()
        names = [name for name in mine if mine[name] != theirs[name]]
        return f"{names[0]} is {mine[names[0]]!r} in one and {theirs[names[0]]!r} in the other" if names else ""

    def refuse_other(self, other: Words, way_out: str) -> None:
        """Refuse a reading that differs from this one, naming the first difference."""
        apart = self.difference(other)
        if apart:
            raise SchemaError(f"the two models read texts differently: {apart}. {way_out}")

    @property
    def unwritable(self) -> str:
        """Why words that are drawn make no text that would be read as these words; empty where they make one."""
        if self.hashed is not None:
            return "hashes stand for the words, and no words were kept"
        if self.by_character:
            return f"tokens={self.tokens!r} overlap, so those that are drawn make no text"
        if self.span != (1, 1):
            return f"ngrams={self.span} overlap, so those that are drawn make no text"
        if not self.whole:
            return f"values={self.values!r} with length={self.length!r} are no whole numbers of words"
        return ""

    def tokens_of(self, text: str) -> list[str]:
        """What is counted of a text, in order: first the single tokens, then pairs, and so on."""
        return [token for token, _, _ in self._spans(text.lower() if self.lower else text)]

    def spans_of(self, text: str) -> list[Span]:
        """The same, each with its place in the text."""
        if not self.lower:
            return list(self._spans(text))
        lowered = text.lower()
        if len(lowered) == len(text):
            return list(self._spans(lowered))
        origin = [i for i, char in enumerate(text) for _ in char.lower()]
        return [(token, origin[a], origin[b - 1] + 1) for token, a, b in self._spans(lowered)]

    def _spans(self, text: str) -> Iterator[Span]:
        if self.tokens == "characters":
            return self._characters(text)
        if self.tokens == "characters in words":
            return self._characters_in_words(text)
        return self._neighbours(list(self._singles(text)))

    def _singles(self, text: str) -> Iterator[Span]:
        least, stops = self.least_length or 1, frozenset(self.stop or ())
        for found in re.finditer(PATTERNS[self.tokens], text):
            token = found.group()
            if len(token) >= least and token not in stops:
                yield token, found.start(), found.end()

    def _neighbours(self, singles: list[Span]) -> Iterator[Span]:
        low, high = self.span
        for n in range(low, min(high, len(singles)) + 1):
            for i in range(len(singles) - n + 1):
                run = singles[i : i + n]
                yield " ".join(token for token, _, _ in run), run[0][1], run[-1][2]

    def _characters(self, text: str) -> Iterator[Span]:
        """Runs of two or more spaces count as one."""
        origin: list[int] = []
        end = 0
        for found in SPACES.finditer(text):
            origin += range(end, found.start() + 1)
            end = found.end()
        origin += range(end, len(text))
        text = SPACES.sub(" ", text)
        low, high = self.span
        for n in range(low, min(high, len(text)) + 1):
            for i in range(len(text) - n + 1):
                yield text[i : i + n], origin[i], origin[i + n - 1] + 1

    def _characters_in_words(self, text: str) -> Iterator[Span]:
        """A word shorter than n is counted once, with the spaces about it."""
        low, high = self.span
        for found in re.finditer(r"\S+", text):
            word, a, b = f" {found.group()} ", found.start(), found.end()
            for n in range(low, high + 1):
                for i in range(max(1, len(word) - n + 1)):
                    yield word[i : i + n], max(a, a + i - 1), min(b, a + i - 1 + n)
                if n >= len(word):
                    break


def _whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _digest(told: Any) -> str:
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]
