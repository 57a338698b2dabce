"""Text: the tokenizer, documents, and counting of words."""

from deciban.text.counting import (
    Finder,
    WordCounter,
    build_word_matrix,
    count_columns,
    count_known_words,
    keep_known_words,
    sample_texts,
)
from deciban.text.documents import Documents
from deciban.text.words import Words

__all__ = [
    "Documents",
    "Finder",
    "WordCounter",
    "Words",
    "build_word_matrix",
    "count_columns",
    "count_known_words",
    "keep_known_words",
    "sample_texts",
]
