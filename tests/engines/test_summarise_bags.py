"""Rows of words as bags, against sums written out."""

import numpy as np
from scipy.sparse import csr_array

from deciban.engines import summarise_bags

X = csr_array(np.array([[2.0, 0, 1], [0, 0, 0], [0, 3, 0], [1, 1, 0]]))
CODES = np.array([0, 0, 1, 1], dtype=np.int32)


def test_a_document_without_a_word_is_none():
    found = summarise_bags(X, CODES, np.array([1.0, 5.0, 2.0, 1.0]), 2, 1)
    assert found.occurrences.weight.ravel().tolist() == [1.0, 3.0]


def test_words_are_counted_with_the_documents_that_have_them():
    found = summarise_bags(X, CODES, None, 2, 1)
    assert found.occurrences.to_dense().total.tolist() == [[2, 0, 1], [1, 4, 0]]
    assert found.documents.to_dense().total.tolist() == [[1, 0, 1], [1, 2, 0]]


def test_words_that_count_once_anyway_are_counted_once():
    found = summarise_bags(X, CODES, None, 2, 1, presence=True)
    assert found.documents is found.occurrences
