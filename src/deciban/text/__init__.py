"""Text: the tokenizer, documents, and counting of words."""

from deciban.text.counting import Finder as Finder
from deciban.text.counting import WordCounter as WordCounter
from deciban.text.counting import build_word_matrix as build_word_matrix
from deciban.text.counting import count_columns as count_columns
from deciban.text.counting import count_known_words as count_known_words
from deciban.text.counting import keep_known_words as keep_known_words
from deciban.text.counting import sample_texts as sample_texts
from deciban.text.documents import Documents as Documents
from deciban.text.words import Words as Words
