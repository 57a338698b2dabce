"""Documents to learn from, random or fixed, for all tests of texts."""

import warnings

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from deciban import Words

MAIL = ["cheap pills, buy now", "buy cheap watches", "lunch at noon?", "the report is at noon", "buy lunch"]
LABELS = ["spam", "spam", "ham", "ham", "ham"]
ASKED = ["buy the report", "cheap, cheap, cheap lunch", "watches at noon, pills at noon"]
VOCABULARY = ["tea", "cup", "milk", "sugar", "pot", "leaf", "to", "go"]

few = settings(max_examples=12)  # where a matrix multiplies them

texts = st.lists(st.sampled_from([*VOCABULARY, "Tea", "a"]), max_size=8).map(" ".join)


@st.composite
def corpora(draw, least=2):
    """Draw documents of all three classes, some without a word, and documents to classify."""
    documents = draw(st.lists(texts, min_size=least, max_size=9))
    labels = [*"abc", *draw(st.lists(st.sampled_from("abc"), min_size=9, max_size=9))]
    return (
        ["tea pot", "milk", "go to", *documents],
        labels[: 3 + len(documents)],
        draw(st.lists(texts, min_size=1, max_size=5)),
    )


def without_warnings(function, *arguments):
    """Return the result of a function, without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments)


def assert_same_scores(model, other, questions, **close):
    np.testing.assert_allclose(
        without_warnings(model.predict_joint_log_proba, questions),
        without_warnings(other.predict_joint_log_proba, questions),
        **{"rtol": 1e-12, "atol": 1e-12, **close},
    )


ADDITIVE = {
    "multinomial": {},
    "boolean": {"event": "boolean"},
    "bernoulli": {"event": "bernoulli"},
    "complement": {"event": "complement"},
    "idf": {"idf": True},
    "hashed": {"words": Words(hashed=3)},
    "selected": {"most": 3, "least": 2, "by": "chi2"},
}
