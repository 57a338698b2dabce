"""The results of mail on one split of many; skipped where the data folder or bogofilter is absent."""

import shutil

import numpy as np
import pytest
from benchmarks import data, lab_mail_explanations, lab_mail_runs, mail_data, mail_peers
from benchmarks.text_peers import PeerMissingError

from tests.mail.spamds import make_message

pytestmark = pytest.mark.corpus


@pytest.mark.parametrize("kind", [mail_peers.Bogofilter, mail_peers.SpamAssassinBayes, mail_peers.Crm114])
def test_other_filters_are_asked_in_a_way_that_they_understand(kind, tmp_path):
    paths = [tmp_path / f"{n}-{label}" for n in range(30) for label in ("ham", "spam")]
    for path in paths:
        n, label = path.name.split("-")
        path.write_bytes(make_message(label, int(n)))
    codes = np.array([0, 1] * 30, dtype=np.int32)
    try:
        with mail_peers.fresh(kind) as peer:
            peer.learn(paths[:50], codes[:50])
            scores = peer.scores(paths[50:])
    except PeerMissingError as absent:
        pytest.skip(str(absent))
    assert ((scores >= 0) == (codes[50:] == 1)).all()


@pytest.fixture(scope="module")
def models():
    try:
        return lab_mail_runs.measure_models(4)
    except data.DataMissingError as absent:
        pytest.skip(str(absent))


@pytest.mark.thorough(reason="needs a corpus, and minutes")
@pytest.mark.skipif(shutil.which("bogofilter") is None, reason="needs Debian's bogofilter")
def test_fewer_errors_and_better_ranked_than_bogofilter_on_the_same_split(models):
    peer = lab_mail_runs.measure_peer_split(mail_peers.Bogofilter, 4).metrics
    ours = models["evidence"].metrics
    assert ours.error < peer.error
    assert ours.misranked < peer.misranked
    assert ours.lost <= peer.lost + 1
    assert ours.unsure < peer.unsure


@pytest.mark.thorough(reason="needs a corpus, and minutes")
def test_the_usual_model_is_the_best_of_the_four(models):
    assert min(models, key=lambda name: models[name].metrics.log_loss) == "evidence"
    assert min(models, key=lambda name: models[name].metrics.misranked) == "evidence"


def test_splits_are_those_of_the_lab_of_evidence():
    try:
        mail = mail_data.spamassassin()
    except data.DataMissingError as absent:
        pytest.skip(str(absent))
    learn, judge = mail.split(0)
    assert (len(learn), len(judge), int(mail.codes[judge].sum())) == (4232, 1815, 569)
    assert len(set(learn) | set(judge)) == 6047


def test_explanations_name_nobody():
    text = lab_mail_explanations.mask('sender is joe@example.com; sender\'s name has "joseph"; came by 10.1.2.3')
    assert text == 'sender is •••@example.com; sender\'s name has "j•••"; came by 10.•••'
    assert lab_mail_explanations.mask("written with outlook 5.00.2919.6900") == "written with outlook 5.00.2919.6900"
