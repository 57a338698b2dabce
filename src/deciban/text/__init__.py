"""WORDS: how a text is read, and what of it is counted."""

from deciban.text.document_rows import known_words, matrix, measured_by, spelled, width
from deciban.text.documents import Documents
from deciban.text.word_counter import WordCounter
from deciban.text.words import Words

__all__ = ["Documents", "WordCounter", "Words", "known_words", "matrix", "measured_by", "spelled", "width"]
