"""Words: the settings of the tokenizer, which models carry; and the tokenizer itself, in plain Python.

This is the definition; `deciban.kernels.tokenizer` gives equal results for large input. The words are those of
sklearn's CountVectorizer.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from numbers import Integral
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.docstrings import document
from deciban.errors import InputError, SchemaError

Tokens = Literal["words", "whitespace", "words and punctuation", "characters", "characters in words"]
Values = Literal["counts", "presence", "log"]
Length = Literal["l1", "l2"]

Span = tuple[str, int, int]
"""A token, and the places of its first character and after its last one in the text."""

MAX_HASH_BITS = 24
"""A hashed vocabulary has at most 2 to this power columns."""

MAX_NGRAM_LENGTH = 100
"""The greatest number of tokens of an n-gram, in fitting and in model files: memory and time grow with it."""

MAX_SHOWN_STOP_WORDS = 5
"""The number of stop words up to which they are shown, and not only counted."""

SPACES = re.compile(r"\s\s+")
PATTERNS: Mapping[str, str] = {"words": r"\w+", "whitespace": r"\S+", "words and punctuation": r"\w+|[^\w\s]"}
"""The pattern of each kind of token, in the order of the kernels' numbers for them."""

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "classic": {},
    "modern": {"tokens": "words and punctuation", "ngrams": 2},
}
"""The settings that have a name; see `Words.preset`."""


@document()
@dataclass(frozen=True)
class Words:
    r"""The settings by which a text is split into words and counted.

    Parameters
    ----------
    lower : bool
        Whether words are written in lower case.
    tokens : 'words', 'whitespace', 'words and punctuation', 'characters' or 'characters in words'
        Runs of word characters (`\w`), runs without whitespace, runs of word characters and each punctuation
        character by itself, or single characters, of the whole text or of each word with a space on either side.
    ngrams : int or (int, int)
        The least and the greatest number of neighbours that form an n-gram; 2 means 1 to 2.
    stop : sequence of str, 'english' or None
        Words that are left out; 'english': scikit-learn's list.
    least_length : int or None
        Shorter tokens are left out; None: 2 where tokens are words alone, else 1.
    values : 'counts', 'presence' or 'log'
        A word counts as often as it occurs, once, or ln(1 + times).
    length : 'l1', 'l2' or None
        A document's values are divided by their sum, or by their Euclidean length.
    hashed : int or None
        The number of bits of a hash that stands for a word; no words are kept.

    Examples
    --------
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

    def __repr__(self) -> str:
        default = Words()
        given = {f.name: getattr(self, f.name) for f in fields(self)}
        shown = {name: value for name, value in given.items() if value != getattr(default, name)}
        if len(self.stop or ()) > MAX_SHOWN_STOP_WORDS:
            shown["stop"] = f"{len(self.stop or ())} words"
        return f"Words({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    def __post_init__(self) -> None:
        self._check_choices()
        object.__setattr__(self, "ngrams", self._check_ngrams())
        object.__setattr__(self, "stop", self._check_stop_words())
        object.__setattr__(self, "least_length", self._check_least_length())

    def _check_choices(self) -> None:
        """Raise InputError for values that an argument cannot have; turn `hashed` into an int."""
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
            if not _is_integer(self.hashed) or not 1 <= self.hashed <= MAX_HASH_BITS:
                raise InputError(f"hashed must be a number of bits from 1 to {MAX_HASH_BITS}, not {self.hashed!r}")
            object.__setattr__(self, "hashed", int(self.hashed))

    def _check_ngrams(self) -> tuple[int, int]:
        given: Any = (1, self.ngrams) if _is_integer(self.ngrams) else self.ngrams
        if isinstance(given, (tuple, list)) and len(given) == 2 and all(map(_is_integer, given)):
            low, high = given
            if 1 <= low <= high <= MAX_NGRAM_LENGTH:
                return int(low), int(high)
        raise InputError(
            f"ngrams must be a whole number from 1 to {MAX_NGRAM_LENGTH}, or two of them, low ≤ high; "
            f"not {self.ngrams!r}"
        )

    def _check_stop_words(self) -> tuple[str, ...] | None:
        given: Any = () if self.stop is None else self.stop
        if isinstance(given, str) and given == "english":
            from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

            given = ENGLISH_STOP_WORDS
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise InputError(f"stop must be 'english' or a list of words, not {given!r}")
        given = list(given)
        if not given:
            return None
        if self.by_character:
            raise InputError(f"stop words have no meaning where tokens={self.tokens!r}. Hint: tokens='words'")
        if not all(isinstance(word, str) for word in given):
            raise InputError("stop words must be texts")
        return tuple(sorted(set(given)))

    def _check_least_length(self) -> int | None:
        if self.by_character:
            if self.least_length is not None:
                raise InputError(f"least_length has no meaning where tokens={self.tokens!r}. Hint: ngrams=(3, 5)")
            return None
        if self.least_length is None:
            return 2 if self.tokens == "words" else 1
        if not _is_integer(self.least_length) or self.least_length < 1:
            raise InputError(f"least_length must be a whole number ≥ 1, not {self.least_length!r}")
        return int(self.least_length)

    @property
    def by_character(self) -> bool:
        """Whether tokens are characters."""
        return self.tokens in ("characters", "characters in words")

    @property
    def span(self) -> tuple[int, int]:
        """The least and the greatest number of tokens of an n-gram."""
        assert isinstance(self.ngrams, tuple)
        return self.ngrams

    @property
    def n_columns(self) -> int:
        """The number of columns of a hashed vocabulary; 0 where the words are kept."""
        return 0 if self.hashed is None else 1 << self.hashed

    @property
    def has_integer_values(self) -> bool:
        """Whether every value of a word is an integer."""
        return self.values != "log" and self.length is None

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as a JSON object.

        >>> Words(ngrams=2).to_dict()["ngrams"]
        [1, 2]
        """
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> Self:
        """Build settings from the result of `to_dict`; raise an error for unknown names.

        >>> Words.from_dict(Words(ngrams=2).to_dict()) == Words(ngrams=2)
        True
        """
        known = {field.name for field in fields(cls)}
        unknown = [name for name in settings if name not in known]
        if unknown:
            raise InputError(f"words are not specified by {unknown[0]!r}. Hint: one of {', '.join(sorted(known))}")
        given: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in settings.items()}
        return cls(**given)

    @classmethod
    def preset(cls, name: str, **changes: Any) -> "Words":
        """Return the settings of a name in `PRESETS`, with changes.

        "classic" are the defaults, the words of scikit-learn's CountVectorizer; "modern" are words of any length,
        punctuation, and pairs of neighbours.

        >>> Words.preset("modern").tokens_of("Not bad!")
        ['not', 'bad', '!', 'not bad', 'bad !']
        """
        if not isinstance(name, str) or name not in PRESETS:
            raise InputError(f"{name!r} names no settings of words. Hint: one of {', '.join(map(repr, PRESETS))}")
        return cls.from_dict({**PRESETS[name], **changes})

    @classmethod
    def from_argument(cls, value: Any) -> "Words":
        """Return settings as given, of a preset's name, of a mapping over the defaults, or the defaults for None.

        >>> Words.from_argument({"ngrams": 2}) == Words(ngrams=2), Words.from_argument(None) == Words()
        (True, True)
        """
        if value is None or isinstance(value, Words):
            return value or cls()
        if isinstance(value, Mapping):
            return cls.from_dict(value)
        if isinstance(value, str):
            return cls.preset(value)
        raise InputError(
            f"words must be deciban.Words, a mapping of its arguments or a name, not {value!r}. "
            f"Hint: words={{'ngrams': 2}}, or words='modern'"
        )

    @cached_property
    def reading(self) -> str:
        """A description of the settings that differ from the defaults: equal for equal settings only."""
        usual = Words(tokens=self.tokens)
        changed = {name: value for name, value in self.to_dict().items() if value != usual.to_dict()[name]}
        stop = changed.pop("stop", None)
        changed |= {} if stop is None else {"stop": f"{len(stop)} words, {_digest(stop)}"}
        more = "".join(f", {name}={value}" for name, value in changed.items())
        return f"{self.tokens} of a text{more}"

    @property
    def fingerprint(self) -> str:
        """A digest of exactly these settings."""
        return _digest(self.to_dict())

    def refuse_other(self, other: "Words", hint: str) -> None:
        """Raise SchemaError if the settings of another model differ from these, naming the first difference.

        >>> Words().refuse_other(Words(), "train both with the same words")
        """
        mine, theirs = self.to_dict(), other.to_dict()
        for name in mine:
            if mine[name] != theirs[name]:
                difference = f"{name} is {mine[name]!r} in one and {theirs[name]!r} in the other"
                raise SchemaError(f"the two models read texts differently: {difference}. {hint}")

    @property
    def unwritable(self) -> str:
        """The reason why sampled words make no text that would be split into these words; empty where they do."""
        if self.hashed is not None:
            return "hashes stand for the words, and no words were kept"
        if self.by_character:
            return f"tokens={self.tokens!r} overlap, so those that are drawn make no text"
        if self.span != (1, 1):
            return f"ngrams={self.span} overlap, so those that are drawn make no text"
        if not self.has_integer_values:
            return f"values={self.values!r} with length={self.length!r} are not whole numbers of words"
        return ""

    def tokens_of(self, text: str) -> list[str]:
        """Return the tokens of a text that are counted, in order: single tokens, then pairs, and so on.

        >>> Words(ngrams=2).tokens_of("The cat sat.")
        ['the', 'cat', 'sat', 'the cat', 'cat sat']
        """
        text = text.lower() if self.lower else text
        if self.by_character:
            return [token for token, _, _ in self._find_spans(text)]
        tokens, (low, high) = self._pattern.findall(text), self.span
        if self.stop:
            tokens = [token for token in tokens if token not in self._stops]
        if (low, high) == (1, 1):
            return tokens
        longest = min(high, len(tokens))
        return [" ".join(tokens[i : i + n]) for n in range(low, longest + 1) for i in range(len(tokens) - n + 1)]

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """The pattern of a token of at least `least_length` characters."""
        least = self.least_length or 1
        if self.tokens == "words and punctuation":
            return re.compile(PATTERNS[self.tokens] if least == 1 else rf"\w{{{least},}}")
        return re.compile(f"{PATTERNS[self.tokens][:-1]}{{{least},}}")

    @cached_property
    def _stops(self) -> frozenset[str]:
        """The words that are left out."""
        return frozenset(self.stop or ())

    def spans_of(self, text: str) -> list[Span]:
        """Return the tokens of a text as `tokens_of`, each with its place in the text.

        >>> Words().spans_of("The cat sat.")
        [('the', 0, 3), ('cat', 4, 7), ('sat', 8, 11)]
        """
        if not self.lower:
            return list(self._find_spans(text))
        lowered = text.lower()
        if len(lowered) == len(text):
            return list(self._find_spans(lowered))
        origin = [i for i, char in enumerate(text) for _ in char.lower()]
        ends = [0, *(i + 1 for i in origin)]
        starts = [*origin, len(text)]
        return [(token, starts[a], ends[b]) for token, a, b in self._find_spans(lowered)]

    def _find_spans(self, text: str) -> Iterator[Span]:
        """Yield the tokens of a text, which is in lower case where that is wanted, with their places in it."""
        readers = {"characters": self._find_characters, "characters in words": self._find_characters_in_words}
        return readers.get(self.tokens, self._find_words)(text)

    def _find_words(self, text: str) -> Iterator[Span]:
        """Yield single tokens, then pairs of neighbours, and so on."""
        low, high = self.span
        tokens = ((found.group(), found.start(), found.end()) for found in self._pattern.finditer(text))
        singles = [span for span in tokens if span[0] not in self._stops]
        for n in range(low, min(high, len(singles)) + 1):
            for i in range(len(singles) - n + 1):
                run = singles[i : i + n]
                yield " ".join(token for token, _, _ in run), run[0][1], run[-1][2]

    def _find_characters(self, text: str) -> Iterator[Span]:
        """Yield n-grams of characters, by length; runs of two or more white-space characters count as one space."""
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

    def _find_characters_in_words(self, text: str) -> Iterator[Span]:
        """Yield n-grams of characters in each word; a word shorter than n counts once, with spaces around it."""
        low, high = self.span
        for found in re.finditer(r"\S+", text):
            word, a, b = f" {found.group()} ", found.start(), found.end()
            for n in range(low, high + 1):
                for i in range(max(1, len(word) - n + 1)):
                    yield word[i : i + n], max(a, a + i - 1), min(b, a + i - 1 + n)
                if n >= len(word):
                    break


def count_words(words: Words, text: str) -> dict[str, float]:
    """Return the words of a text and their values by these settings.

    >>> count_words(Words(values="presence"), "to be or not to be")
    {'to': 1.0, 'be': 1.0, 'or': 1.0, 'not': 1.0}
    """
    counts = Counter(words.tokens_of(text))
    values = weigh_counts(words, np.array(list(counts.values()), np.int64), np.zeros(len(counts), np.int64))
    return dict(zip(counts, values.tolist()))


def weigh_counts(words: Words, times: NDArray[np.int64], row: NDArray[np.int64]) -> Array:
    """Return the values of words that occur so many times in these rows, divided by the length of their row."""
    if words.values == "presence":
        values = np.ones(len(times))
    else:
        values = np.log1p(times) if words.values == "log" else times.astype(np.float64)
    if words.length is None:
        return values
    if words.length == "l1":
        return values / np.bincount(row, weights=values)[row]
    return values / np.sqrt(np.bincount(row, weights=values**2))[row]


def _is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]
