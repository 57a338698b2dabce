"""Old messages weigh less, exactly; a store keeps to its size limit, and finds its own mistakes."""

import sqlite3
from fractions import Fraction

import pytest

from deciban.errors import InputError, StoreError
from deciban.mail.store.ageing import MAX_EXACT_WEIGHT, MAX_HALF_LIVES, Ageing
from deciban.mail.store.store import Store
from deciban.mail.store.stored_messages import StoredMessage

DAY = 86400.0


def entry(i: int, label: str, day: float, tokens: list[str]) -> StoredMessage:
    return StoredMessage(i.to_bytes(16, "little"), label, tokens, day * DAY)


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "mail.db") as opened:
        yield opened


def test_a_half_life_halves():
    ageing = Ageing(half_life=10 * DAY, origin=0.0)
    assert [ageing.weight(day * DAY) for day in (-20, -10, 0, 10, 20)] == [0.25, 0.5, 1.0, 2.0, 4.0]


def test_weights_are_right_to_two_percent_and_multiples_of_one_unit():
    ageing = Ageing(half_life=1.0, origin=0.0)
    for step in range(-1200, 1201):
        x = step / 100
        weight = ageing.weight(x)
        assert abs(weight / 2**x - 1) < 1 / 64 + 1e-12
        assert (Fraction(weight) * 2**17).denominator == 1
    assert ageing.weight(1e9) == 2.0**MAX_HALF_LIVES
    assert ageing.weight(-1e9) == 2.0**-MAX_HALF_LIVES


def test_sums_at_the_bound_are_still_exact():
    unit = 2.0**-17
    below = MAX_EXACT_WEIGHT - unit
    assert Fraction(below) == Fraction(2) ** 36 - Fraction(1, 2**17)
    assert (below - unit) + unit == below


def test_newer_messages_weigh_more_and_models_divide_by_the_weight_of_now(store):
    store.learn([entry(1, "ham", 0, ["a"])])
    store.age(10 * DAY)
    store.learn([entry(2, "ham", 10, ["a", "b"]), entry(3, "spam", 5, ["b"])])
    assert store.counts(["a", "b"]) == {"a": (3.0, 0.0), "b": (2.0, 1.40625)}
    assert store.totals() == {"ham": (2, 3.0), "spam": (1, 1.40625)}
    assert store.unit(20 * DAY) == 4.0
    assert store.check() == []


def test_the_first_message_sets_the_origin_of_a_store_that_ages(store):
    store.age(10 * DAY)
    store.learn([entry(1, "ham", 1000, ["a"])])
    assert store.counts(["a"]) == {"a": (1.0,)}
    assert store.ageing == Ageing(10 * DAY, 1000 * DAY)


def test_ageing_can_be_ended(store):
    store.learn([entry(i, "ham", i, ["a"]) for i in range(20)])
    store.age(DAY)
    assert store.counts(["a"])["a"][0] < 2.01
    store.age(None)
    assert store.counts(["a"]) == {"a": (20.0,)}
    assert store.unit() == 1.0


def test_unlearning_after_ageing_leaves_no_crumbs(store):
    store.age(3.3 * DAY)
    store.learn([entry(i, ("ham", "spam")[i % 3 == 0], i * 0.77, ["a", f"w{i % 7}"]) for i in range(50)])
    store.unlearn(i.to_bytes(16, "little") for i in range(50))
    assert store.totals() == {"spam": (0, 0.0), "ham": (0, 0.0)}
    assert store.n_tokens() == 0


def test_tidying_takes_a_later_origin_when_it_is_due(store):
    store.age(DAY)
    store.learn([entry(1, "ham", 0, ["a"])])
    store.learn([entry(2, "ham", 7.9, ["a"])])
    assert not store.tidy().renewed
    store.learn([entry(3, "ham", 9, ["b"])])
    assert store.tidy() == (0, True)
    assert store.ageing.origin == 9 * DAY
    assert store.counts(["b"]) == {"b": (1.0,)}
    assert store.counts(["a"])["a"][0] == 2.0**-9 + Ageing(DAY, 0.0).weight(-1.1 * DAY)
    assert store.check() == []


def test_old_mail_that_is_learned_today_does_not_make_tidying_due_for_ever(store):
    store.age(DAY)
    store.learn([entry(1, "ham", 0, ["a"])])
    assert not store.is_tidy_due()
    store.learn([entry(2, "ham", 9, ["a"])])
    assert store.is_tidy_due()
    assert store.tidy().renewed
    assert not store.is_tidy_due()


@pytest.mark.parametrize("half_life", [0, -1, float("nan"), float("inf"), "10 days", 0.5])
def test_a_half_life_that_is_none_is_refused(store, half_life):
    with pytest.raises(InputError, match="half-life"):
        store.age(half_life)


def test_more_weight_than_adds_exactly_is_refused_and_nothing_changes(store):
    store.learn([entry(1, "ham", 0, ["a"])])
    with store.write_transaction():
        store.db.execute("UPDATE label SET weight = ?", (MAX_EXACT_WEIGHT,))
    with pytest.raises(StoreError, match="add up exactly"):
        store.learn([entry(2, "ham", 0, ["b"])])
    assert store.counts(["b"]) == {}


# The bound


def test_the_oldest_go_first(store):
    store.learn([entry(i, "ham", i, [f"w{i}", "all"]) for i in (3, 1, 4, 0, 2)])
    store.set("most_messages", 2)
    assert store.tidy() == (3, False)
    assert store.counts([f"w{i}" for i in range(5)] + ["all"]) == {"w3": (1.0,), "w4": (1.0,), "all": (2.0,)}
    assert store.tidy() == (0, False)


def test_a_flood_of_one_label_does_not_wash_away_the_other(store):
    store.learn([entry(i, "ham", i, [f"w{i}"]) for i in range(10)])
    store.learn([entry(i, "spam", i, [f"w{i}"]) for i in range(10, 100)])
    store.set("most_messages", 12)
    store.tidy()
    assert store.totals() == {"ham": (6, 6.0), "spam": (6, 6.0)}
    assert store.check() == []


def test_a_tidied_store_gives_its_space_back(store):
    store.learn([entry(i, "ham", i, [f"w{i}-{j}" for j in range(50)]) for i in range(400)])
    before = sum(file.stat().st_size for file in store.path.parent.glob("*.db*"))
    store.set("most_messages", 10)
    store.tidy()
    assert store.path.stat().st_size < before / 4


@pytest.mark.parametrize("most", [0, -3, 2.5, True, "many"])
def test_a_bound_that_is_none_is_refused(store, most):
    with pytest.raises(InputError, match="most_messages"):
        store.set("most_messages", most)


# Checks


def damage(store: Store, statement: str) -> None:
    db = sqlite3.connect(store.path)
    db.execute(statement)
    db.commit()
    db.close()


@pytest.mark.parametrize(
    ("statement", "message_text"),
    [
        (
            "UPDATE token SET label_1 = label_1 + 1 WHERE word = 'a'",
            "token 'a' counts 3.0 for 'ham'; its messages weigh 2.0",
        ),
        (
            "UPDATE label SET messages = 7 WHERE id = 1",
            "label 'ham' is recorded with 7 messages of weight 2.0; it has 2",
        ),
        ("DELETE FROM token WHERE word = 'b'", "tokens of messages that have no word: 1"),
        ("INSERT INTO token VALUES (99, 'stray', 0, 0)", "token 'stray' is in no message"),
        ("UPDATE message SET weight = 3 WHERE id = 1", "weighs 3.0, not 1.0"),
        ("UPDATE message SET label = 9 WHERE id = 1", "messages have label 9, which does not exist"),
    ],
)
def test_what_is_wrong_is_found(store, statement, message_text):
    store.learn([entry(1, "ham", 0, ["a"]), entry(2, "spam", 1, ["b"]), entry(3, "ham", 1, ["a"])])
    assert store.check() == []
    damage(store, statement)
    assert any(message_text in problem for problem in store.check())


def test_counts_can_be_recomputed(store):
    store.learn([entry(1, "ham", 0, ["a"]), entry(2, "spam", 1, ["b"])])
    damage(store, "UPDATE token SET label_1 = 17, label_2 = 3")
    damage(store, "UPDATE label SET messages = 0")
    damage(store, "INSERT INTO token VALUES (99, 'stray', 1, 0)")
    store.recount()
    assert store.check() == []
    assert store.counts(["a", "b", "stray"]) == {"a": (1.0, 0.0), "b": (0.0, 1.0)}
