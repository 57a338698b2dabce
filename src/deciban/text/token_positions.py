"""Where the words of a text stand, and in which column each is counted."""

from __future__ import annotations

from dataclasses import dataclass

from deciban.ledger import Vocabulary
from deciban.scores.passages import FoundWord
from deciban.text.bag_of_words import column
from deciban.text.words import Words


@dataclass(frozen=True)
class Finder:
    """Finds the known words of a text.

    >>> known = Vocabulary.of(["cat", "hat"])
    >>> [(one.word, one.start, one.end) for one in Finder(Words(), known)("The cat: a HAT.")]
    [('cat', 4, 7), ('hat', 11, 14)]
    """

    words: Words
    vocabulary: Vocabulary | None

    def __call__(self, text: str) -> list[FoundWord]:
        """Every occurrence of a word that is known."""
        spans = self.words.spans_of(text)
        tokens = list({token for token, _, _ in spans})
        if self.vocabulary is None:
            place = {token: column(self.words, token) for token in tokens}
        else:
            place = dict(zip(tokens, self.vocabulary.places(tokens).tolist()))
        return [FoundWord(token, a, b, place[token]) for token, a, b in spans if place[token] >= 0]
