"""Short messages of any kind are not lost, whatever mail was learned before them."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import data, mail_data

from deciban.mail.evaluation.evaluate_filter import train_filter
from deciban.mail.evaluation.labelled_mail import LabelledMail
from tests.mail.short_ham import build_messages

CORPORA = ("SpamAssassin", "Enron1", "Enron2", "Enron5", "Enron6")


def test_there_are_sixty_different_messages() -> None:
    assert len(set(build_messages().values())) == 60


@pytest.mark.thorough(reason="needs a corpus, and minutes")
@pytest.mark.parametrize("name", CORPORA)
def test_no_short_message_is_lost_after_learning_a_corpus(name: str) -> None:
    try:
        corpus = {mail.name: mail for mail in mail_data.corpora()}[name]
    except data.DataMissingError as absent:
        pytest.skip(str(absent))
    labels = np.where(corpus.codes == 1, "spam", "ham").tolist()
    learned = [(label, (str(i), raw)) for i, (label, raw) in enumerate(zip(labels, corpus.raws))]
    short = [("ham", message) for message in build_messages().items()]
    mail = LabelledMail.read([*learned, *short])
    n = len(learned)
    trained = train_filter(mail, np.arange(n), "evidence")
    verdicts = trained.judge(range(n, n + 60)).verdicts
    assert [mail.names[n + i] for i in np.flatnonzero(verdicts == 1)] == []
