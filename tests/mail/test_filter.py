"""The filter: what it learns counts at once, its evidence adds up, and few messages leave it unsure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from deciban.errors import ForgetError, InputError
from deciban.mail import filter as filter_module
from deciban.mail.bulk import read_batches as bulk
from deciban.mail.bulk.reader_processes import MIN_MESSAGES_FOR_PROCESSES, ReaderProcess
from deciban.mail.filter import MailFilter, default_store
from deciban.mail.model.verdicts import StoreSnapshot, TokenRows, Verdict, strongest_tokens
from deciban.mail.store.store_schema import MODELS

HAM = ["tea", "garden", "meeting", "agenda", "notes", "train", "ticket", "mother", "recipe", "football"]
SPAM = ["winner", "million", "claim", "pills", "discount", "lottery", "free", "click", "urgent", "offer"]


def make_message(words: list[str], n: int, sender: str) -> bytes:
    """A made-up message; n tells it from others of the same words."""
    head = f"From: {sender}\nSubject: {words[n % len(words)]}\nMessage-ID: <{n}@{sender}>"
    return f"{head}\n\n{' '.join(words)} n{n}\n".encode()


def make_messages(words: list[str], n: int, seed: int, sender: str) -> list[bytes]:
    """Return so many messages, each of half the words."""
    random = np.random.default_rng(seed)
    return [make_message(random.permutation(words)[: len(words) // 2].tolist(), i, sender) for i in range(n)]


@pytest.fixture
def mail(tmp_path: Path) -> Iterator[MailFilter]:
    with MailFilter(tmp_path / "mail.db") as opened:
        yield opened


def teach(mail: MailFilter, n: int = 15) -> MailFilter:
    mail.learn_all((("h", raw) for raw in make_messages(HAM, n, 0, "aunt@home.example")), "ham")
    mail.learn_all((("s", raw) for raw in make_messages(SPAM, n, 1, "x@win.example")), "spam")
    return mail


def count_words(mail: MailFilter) -> dict[str, list[float]]:
    """In how many messages of each label each token is."""
    found = mail.store.tokens(None, None)
    return dict(zip(found.words, found.counts.tolist()))


def test_nothing_learned_is_unsure_and_says_so(mail: MailFilter) -> None:
    verdict = mail.classify(b"Subject: hello\n\nyou")
    assert (verdict.label, verdict.probability, verdict.decibans) == ("unsure", 0.5, 0.0)
    assert "nothing learned" in verdict.why


def test_from_the_first_message_of_each_label_it_leans_the_right_way_but_stays_unsure(mail: MailFilter) -> None:
    mail.learn(make_message(HAM, 1, "aunt@home.example"), "ham")
    mail.learn(make_message(SPAM, 2, "x@win.example"), "spam")
    spam, ham = (
        mail.classify(make_message(SPAM, 3, "y@win.example")),
        mail.classify(make_message(HAM, 4, "uncle@home.example")),
    )
    assert spam.probability > 0.5 > ham.probability
    assert spam.label == ham.label == "unsure"
    assert spam.why == "1 ham, 1 spam learned; at least 5 of each label are needed"


def test_a_model_that_knows_nothing_before_it_is_fitted_says_so(tmp_path: Path) -> None:
    raw = make_message(SPAM, 99, "x@win.example")
    with MailFilter(tmp_path / "mail.db", model="logistic") as mail:
        verdict = teach(mail).classify(raw)
        [(_, among_many)] = mail.classify_all([("new", raw)])
        assert verdict.label == among_many.label == "unsure"
        assert verdict.why == among_many.why
        assert "before it is fitted" in verdict.why
        mail.refit()
        assert "fitted" not in mail.classify(raw).why


@pytest.mark.parametrize("model", MODELS)
def test_every_model_tells_plain_cases(tmp_path: Path, model: str) -> None:
    with MailFilter(tmp_path / "mail.db", model=model) as mail:
        teach(mail, 80).refit()
        assert mail.classify(make_message(SPAM, 99, "z@win.example")).label == "spam"
        assert mail.classify(make_message(HAM, 98, "z@home.example")).label == "ham"


@pytest.mark.parametrize("model", MODELS)
def test_the_pieces_of_evidence_add_up_to_the_probability(tmp_path: Path, model: str) -> None:
    with MailFilter(tmp_path / "mail.db", model=model) as mail:
        teach(mail).refit()
        verdict = mail.classify(make_message(SPAM[:3] + HAM[:4], 99, "z@win.example"), clues=4)
        assert len(verdict.clues) == 4
        total = verdict.prior + sum(clue.decibans for clue in verdict.clues) + verdict.others
        assert total == pytest.approx(verdict.decibans, abs=1e-9)
        assert 1 / (1 + 10 ** (-verdict.decibans / 10)) == pytest.approx(verdict.probability, rel=1e-9)


def test_before_any_fit_the_evidence_is_the_counts_log_odds(mail: MailFilter) -> None:
    mail.learn(b"Subject: a\n\nyes yes", "spam")
    mail.learn(b"Subject: b\n\nno", "ham")
    verdict = mail.classify(b"\n\nyes")
    clue = next(clue for clue in verdict.clues if clue.token == "yes")
    by_hand = math.log((1 + 0.3) / (1 + 0.6)) - math.log(0.3 / (1 + 0.6))
    assert clue.counts == {"ham": 0.0, "spam": 1.0}
    assert clue.decibans == pytest.approx(0.05 * 2 / 20 * by_hand * 10 / math.log(10))
    assert verdict.prior == 0.0


def test_what_is_learned_counts_at_once(mail: MailFilter) -> None:
    teach(mail).refit()
    new = b"Subject: zeppelin\n\nzeppelin airship helium"
    before = mail.classify(new).probability
    for i in range(3):
        mail.learn(make_message(["zeppelin", "airship", "helium"], i, "x@win.example"), "spam")
    assert mail.classify(new).probability > before


def test_unlearning_leaves_what_was_before(mail: MailFilter) -> None:
    teach(mail).refit()
    new, probe = make_message(SPAM + HAM, 50, "q@q.example"), make_message(SPAM[:2] + HAM[:2], 51, "r@q.example")
    before = mail.classify(probe)
    mail.learn(new, "spam")
    assert mail.known(new) == "spam"
    assert mail.classify(probe) != before
    assert mail.unlearn(new)
    assert mail.known(new) is None
    assert mail.classify(probe) == before
    assert not mail.unlearn(new)


def test_moving_a_message_undoes_the_first_and_learns_the_second(mail: MailFilter, tmp_path: Path) -> None:
    teach(mail)
    moved = make_message(SPAM + HAM, 50, "q@q.example")
    mail.learn(moved, "ham")
    mail.relabel(moved, "spam")
    with MailFilter(tmp_path / "other.db") as other:
        teach(other).learn(moved, "spam")
        assert other.store.counts(["tea", "claim"]) == mail.store.counts(["tea", "claim"])
    with pytest.raises(ForgetError, match="never learned"):
        mail.relabel(b"Subject: stranger\n\n", "spam")


def test_many_at_once_are_classified_as_one_by_one(mail: MailFilter) -> None:
    teach(mail).refit()
    new = [
        ("a", make_message(SPAM[:3], 70, "x@win.example")),
        ("b", make_message(HAM[:3], 71, "aunt@home.example")),
        ("c", b""),
    ]
    for (name, verdict), (known_as, raw) in zip(mail.classify_all(new), new, strict=True):
        assert name == known_as
        assert verdict == mail.classify(raw)


def test_batches_remember_words_and_hold_what_one_by_one_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some messages come again, some under another label, which takes words away; somebody else learns meanwhile."""
    monkeypatch.setattr(filter_module, "BATCH_MESSAGES", 10)
    monkeypatch.setattr(bulk, "MAX_CHUNK_MESSAGES", 10)
    ham, spam = make_messages(HAM, 40, 0, "aunt@home.example"), make_messages(SPAM, 40, 1, "x@win.example")
    given = [("ham", raw) for raw in ham] + [("spam", raw) for raw in ham[::3]] + [("spam", raw) for raw in spam]
    other = make_message(["strange", "words"], 7, "who@else.example")
    with MailFilter(tmp_path / "batches.db") as mail, MailFilter(tmp_path / "batches.db") as somebody:
        met = iter([lambda: somebody.learn(other, "spam"), lambda: mail.unlearn(ham[1])])
        mail.learn_each(((label, ("", raw)) for label, raw in given), 1, lambda _: next(met, lambda: None)())
        assert mail.store.check() == []
        several = count_words(mail)
    with MailFilter(tmp_path / "single.db") as mail:
        for label, raw in [*given, ("spam", other)]:
            mail.learn(raw, label)
        mail.unlearn(ham[1])
        assert count_words(mail) == several


def test_mail_can_be_sorted_into_folders(mail: MailFilter) -> None:
    work = ["invoice", "project", "deadline", "client", "budget", "report", "office", "contract", "sprint", "review"]
    teach(mail).learn_all((("w", raw) for raw in make_messages(work, 15, 2, "boss@work.example")), "work")
    assert mail.refit()
    verdict = mail.classify(make_message(work, 99, "boss@work.example"))
    assert (verdict.label, verdict.of) == ("work", "work")
    assert verdict.probabilities is not None
    assert sum(verdict.probabilities.values()) == pytest.approx(1.0)
    assert mail.classify(make_message(SPAM, 98, "z@win.example")).label == "spam"


def test_weights_are_fitted_when_enough_has_changed(mail: MailFilter) -> None:
    assert not mail.is_fit_due()
    teach(mail)
    assert mail.is_fit_due()
    assert mail.refit()
    assert not mail.is_fit_due()
    mail.learn_all((("h", raw) for raw in make_messages(HAM, 9, 5, "niece@home.example")), "ham")
    assert not mail.is_fit_due()
    mail.learn(make_message(HAM, 77, "nephew@home.example"), "ham")
    assert mail.is_fit_due()


def test_too_few_messages_fit_nothing(mail: MailFilter) -> None:
    teach(mail, 4)
    assert not mail.refit(force=True)


def test_a_header_line_is_ascii_and_has_no_stray_separators(mail: MailFilter) -> None:
    teach(mail)
    mail.learn("Subject: ümläut;=,\n\nnaïve".encode(), "spam")
    line = mail.classify("Subject: ümläut;=,\n\nnaïve".encode()).header()
    assert line.isascii()
    assert line.count(";") == 3
    assert "\n" not in line


@pytest.mark.parametrize("label", ["", "unsure", "a\nb"])
def test_what_is_no_label_is_refused(mail: MailFilter, label: str) -> None:
    with pytest.raises(InputError, match="label"):
        mail.learn(b"Subject: a\n\n", label)


def test_an_unknown_model_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'magic' is not known\. Hint: one of evidence, bayes, logistic, fisher"):
        MailFilter(tmp_path / "mail.db", model="magic")


def test_the_store_is_where_the_user_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DECIBAN_MAIL", str(tmp_path / "mine.db"))
    assert default_store() == tmp_path / "mine.db"
    monkeypatch.delenv("DECIBAN_MAIL")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_store() == tmp_path / "deciban" / "mail.db"


def test_clues_that_say_the_same_but_for_their_last_bits_stand_by_name() -> None:
    pieces = np.array([1.0, 1.0 + 1e-15, 0.5, -1.0 - 1e-14, 2.0])
    known = TokenRows(np.arange(5), ["b", "c", "x", "a", "y"], np.zeros((5, 2)))
    assert strongest_tokens(pieces, [5], known, 3) == [[4, 3, 0]]
    assert strongest_tokens(pieces, [5], known, 9) == [[4, 3, 0, 1, 2]]


@pytest.mark.parametrize("most", [0, 1, 2, 9])
def test_the_clues_of_many_messages_are_those_of_each(most: int) -> None:
    rng = np.random.default_rng(1)
    sizes = [0, 3, 1, 0, 7, 2]
    pieces, words = rng.integers(-3, 3, 13) / 2, list("abcdefghijklm")
    known = TokenRows(rng.permutation(13), words, np.zeros((13, 2)))
    found = strongest_tokens(pieces, sizes, known, most)
    begin = 0
    for size, mine in zip(sizes, found, strict=True):
        each = range(begin, begin + size)
        assert mine == sorted(each, key=lambda j: (-abs(pieces[j]), words[known.rows[j]]))[:most]
        begin += size


def same(one: Verdict, other: Verdict) -> bool:
    same_clues = [(clue.token, clue.counts) for clue in one.clues] == [
        (clue.token, clue.counts) for clue in other.clues
    ]
    return same_clues and one.label == other.label and math.isclose(one.decibans, other.decibans, abs_tol=1e-9)


def test_large_messages_before_many_small_ones_change_no_verdict(mail: MailFilter) -> None:
    """Few messages are looked up word by word, many by all words at once: the places of words are not the same."""
    teach(mail)
    new = make_messages(HAM, 60, 5, "aunt@home.example") + make_messages(SPAM, 60, 6, "x@win.example")
    large = [raw + b"tea claim " * 60_000 for raw in new[:2]]
    raws = large + new
    verdicts = [verdict for _, verdict in mail.classify_all([("", raw) for raw in raws], processes=1)]
    assert all(same(verdict, mail.classify(raw)) for raw, verdict in zip(raws, verdicts, strict=True))


@pytest.mark.parametrize("many", [1, 1000])
def test_what_is_learned_while_many_are_classified_never_counts_by_half(
    mail: MailFilter, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    """A verdict is one of before or one of after, though words, labels and weights came in between."""
    monkeypatch.setattr(bulk, "MAX_CHUNK_MESSAGES", 10)
    monkeypatch.setattr(filter_module, "MIN_MESSAGES_TO_LOAD", many)
    teach(mail).refit()
    raws = make_messages(HAM + SPAM, 40, 7, "x@win.example")
    before = [mail.classify(raw) for raw in raws]
    verdicts = mail.classify_all([("", raw) for raw in raws], processes=1)
    found = [next(verdicts)[1]]
    with MailFilter(mail.store.path) as other:
        other.learn_all([("w", raw) for raw in make_messages(HAM[:3] + SPAM[:3], 40, 8, "boss@work.example")], "work")
        other.refit(force=True)
    found += [verdict for _, verdict in verdicts]
    after = [mail.classify(raw) for raw in raws]
    assert all(same(each, b) or same(each, a) for each, b, a in zip(found, before, after, strict=True))
    assert same(found[-1], before[-1] if many == 1 else after[-1])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("bound", ["messages", "loaded", "cache"])
def test_whatever_is_loaded_or_forgotten_verdicts_are_those_of_each_message(
    mail: MailFilter, monkeypatch: pytest.MonkeyPatch, bound: str, model: str
) -> None:
    """All tokens are loaded; or those of each batch, since there are too many; or the cache is emptied each time."""
    monkeypatch.setattr(bulk, "MAX_CHUNK_MESSAGES", 60)
    monkeypatch.setattr(filter_module, "MAX_LOADED_TOKENS", 1_000_000 if bound == "messages" else 1)
    monkeypatch.setattr(filter_module, "MAX_BATCH_CACHED_TOKENS", 1 if bound == "cache" else 1 << 20)
    teach(mail).refit()
    with MailFilter(mail.store.path, model=model) as judge:
        raws = [b"", *make_messages(HAM + SPAM, 150, 9, "x@win.example")]
        verdicts = [verdict for _, verdict in judge.classify_all([("", raw) for raw in raws], processes=1)]
        assert all(same(verdict, judge.classify(raw)) for raw, verdict in zip(raws, verdicts, strict=True))


def test_a_store_is_loaded_while_the_first_of_many_messages_are_read(
    mail: MailFilter, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    request, load = ReaderProcess.request, StoreSnapshot.load
    monkeypatch.setattr(ReaderProcess, "request", lambda *a: done.append("requested") or request(*a))
    monkeypatch.setattr(StoreSnapshot, "load", lambda *a: done.append("loaded") or load(*a))
    teach(mail)
    raws = make_messages(HAM + SPAM, MIN_MESSAGES_FOR_PROCESSES, 9, "x@win.example")
    assert len(list(mail.classify_all([("", raw) for raw in raws], processes=2))) == len(raws)
    assert done[:4] == ["requested"] * 3 + ["loaded"]
