"""Text columns of tables: the words of CountVectorizer, with other columns, from any source, in exact folds."""

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB

import deciban
from deciban.errors import InputError, SchemaError
from deciban.ledger import Bags
from deciban.model import matrices
from deciban.model.matrices import split_into_blocks
from deciban.model.summarise_table import TableSummariser
from deciban.sources.source import open_source
from deciban.text import Words
from deciban.training import table_rows as reservoir
from deciban.training.task import plan
from deciban.training.train import train_task
from deciban.validation.splits import FoldAssignment
from tests.tables.clinic import json_lines, parquet
from tests.tables.reviews import as_csv, reviews
from tests.tables.stratified_folds import stratified

ROLES = {"text": "text", "stars": "number", "head": "text", "country": "category"}


def train_model(table, **settings):
    return deciban.train(table, target="verdict", judge=False, **settings)


def log_proba(model, table):
    return np.asarray(model.predict_log_proba(table))


def texts_of(table, name="text"):
    return [text or "" for text in table.column(name).to_pylist()]


@pytest.mark.parametrize(
    ("words", "counting"),
    [
        ({}, {}),
        ({"ngrams": 2, "lower": False}, {"ngram_range": (1, 2), "lowercase": False}),
        ({"tokens": "characters in words", "ngrams": (2, 3)}, {"analyzer": "char_wb", "ngram_range": (2, 3)}),
        ({"values": "presence", "stop": ["film", "a"]}, {"binary": True, "stop_words": ["film", "a"]}),
    ],
)
@pytest.mark.parametrize("alpha", [1.0, 0.1])
def test_a_text_alone_is_a_multinomial_of_the_words_of_count_vectorizer(words, counting, alpha):
    table = reviews(missing=False).select(["text", "verdict"])
    model = train_model(table, words=words, alpha=alpha)
    vectorizer = CountVectorizer(**counting)
    X = vectorizer.fit_transform(texts_of(table))
    y = np.array(table.column("verdict").to_pylist())
    peer = MultinomialNB(alpha=alpha).fit(X, y)
    assert model.roles == {"text": "text"}
    unusual = reviews(50, seed=1, missing=False)
    expected = peer.predict_log_proba(vectorizer.transform(texts_of(unusual)))
    assert np.allclose(log_proba(model, unusual), expected, rtol=1e-12, atol=1e-12)
    assert sorted(model.ledger.schema.blocks[0].names) == sorted(vectorizer.get_feature_names_out())


def test_a_text_alone_is_the_text_classifier():
    table = reviews(missing=False)
    model = train_model(table.select(["text", "verdict"]))
    peer = deciban.TextClassifier().fit(texts_of(table), table.column("verdict").to_pylist())
    assert model.ledger.parts == peer.ledger_.parts
    assert model.ledger.schema == peer.ledger_.schema
    assert np.array_equal(model.predict_proba(table.select(["text"])), peer.predict_proba(texts_of(table)))


def test_columns_of_all_kinds_add_their_evidence():
    table, unusual = reviews(), reviews(60, seed=1)
    model = train_model(table, roles=ROLES)
    alone = {name: train_model(table, roles={**dict.fromkeys(ROLES, "skip"), name: ROLES[name]}) for name in ROLES}
    prior = np.log(list(model.priors.values()))
    evidence = [log_proba(part, unusual) - prior for part in alone.values()]
    joint = prior + sum(evidence)
    expected = joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)
    assert np.allclose(log_proba(model, unusual), expected, rtol=1e-12, atol=1e-12)
    assert np.array_equal(model.predict(unusual), np.array(model.classes, object)[expected.argmax(axis=1)])


def test_the_density_of_a_row_is_that_of_its_columns():
    table = reviews()
    parts = [
        train_model(table, roles={**dict.fromkeys(ROLES, "skip"), name: ROLES[name]}) for name in ("text", "stars")
    ]
    both = train_model(table, roles={**ROLES, "head": "skip", "country": "skip"}, prior="uniform")
    joint = sum(log_proba(p.with_priors("uniform"), table) for p in parts)
    density = [p.with_priors("uniform").score_samples(table).to_numpy() for p in parts]
    log_joint = joint + sum(density)[:, None] - np.log(0.5)
    assert np.allclose(both.score_samples(table).to_numpy(), np.logaddexp.reduce(log_joint, axis=1), rtol=1e-12)


def test_a_missing_text_is_left_out():
    table = reviews()
    model = train_model(table, roles=ROLES)
    seen = [row for row in table.to_pylist() if row["text"] is not None]
    place = [feature.column for feature in model._layout.texts].index("text") - len(model._layout.texts)
    weights = model.ledger.parts[place].weight[:, 0]
    assert weights.tolist() == [sum(row["verdict"] == label for row in seen) for label in model.classes]
    without = train_model(table, roles={**ROLES, "text": "skip"})
    gone = table.set_column(0, "text", pa.nulls(len(table), pa.string()))
    assert np.allclose(log_proba(model, gone), log_proba(without, gone), rtol=1e-12)
    absent = model.predict_proba(table.drop_columns(["text"]), allow_missing_columns=True)
    assert np.array_equal(absent, model.predict_proba(gone))


SOURCES = {
    "csv": lambda t, d: as_csv(t, d / "t.csv"),
    "json lines": lambda t, d: json_lines(t.append_column("admitted", pa.nulls(len(t))), d / "t.jsonl"),
    "parquet": lambda t, d: parquet(t, d / "t.parquet", row_group_size=50),
    "pandas": lambda t, d: t.to_pandas(),
    "polars": lambda t, d: pl.from_arrow(t),
    "large strings": lambda t, d: t.cast(pa.schema([f.with_type(_large(f.type)) for f in t.schema])),
    "string views": lambda t, d: t.cast(pa.schema([f.with_type(_view(f.type)) for f in t.schema])),
    "dictionaries": lambda t, d: t.set_column(0, "text", t.column("text").dictionary_encode()),
    "batches": lambda t, d: pa.RecordBatchReader.from_batches(t.schema, t.to_batches(max_chunksize=7)),
    "duckdb": lambda t, d: duckdb.from_arrow(t),
    "arrays": lambda t, d: (
        {n: np.array(t.column(n).to_pylist(), object) for n in ("text", "head", "verdict")}
        | {"stars": t.column("stars").to_numpy(), "country": np.array(t.column("country").to_pylist(), object)}
    ),
}


def _large(kind):
    return pa.large_string() if kind == pa.string() else kind


def _view(kind):
    return pa.string_view() if kind == pa.string() else kind


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_gives_the_same_ledger(name, tmp_path, monkeypatch):
    monkeypatch.setattr(matrices, "TEXT_BLOCK_BYTES", 2000)
    table = reviews()
    expected = train_model(table, roles=ROLES).ledger
    assert train_model(SOURCES[name](table, tmp_path), roles=ROLES).ledger == expected


@pytest.mark.parametrize("kind", ["string", "large_string", "binary", "large_binary", "string_view"])
def test_blocks_end_by_the_bytes_of_texts_of_every_arrow_type(monkeypatch, kind):
    monkeypatch.setattr(matrices, "TEXT_BLOCK_BYTES", 100)
    batch = pa.record_batch({"t": pa.array(["x" * 30] * 20).cast(getattr(pa, kind)())})
    blocks = list(split_into_blocks(iter([batch]), 1000, ["t"]))
    assert [sum(part.num_rows for part in block) for block in blocks] == [4] * 5


def test_blocks_end_where_their_texts_have_come_to_so_many_bytes_however_batches_come(monkeypatch):
    monkeypatch.setattr(matrices, "TEXT_BLOCK_BYTES", 100)
    texts = ["x" * size for size in (60, 30, 10, 0, 250, 99, 1, 1, 1)]
    table = pa.table({"text": [*texts, None]})
    for size in (1, 2, 3, 100):
        blocks = [
            [cell for batch in block for cell in batch.column(0).to_pylist()]
            for block in split_into_blocks(iter(table.to_batches(max_chunksize=size)), 4, ["text"])
        ]
        assert blocks == [texts[:3], texts[3:5], texts[5:7], [*texts[7:], None]]


def test_long_texts_are_cut_into_blocks_without_a_change(monkeypatch):
    table = reviews()
    whole = deciban.train(table, target="verdict", roles=ROLES)
    monkeypatch.setattr(matrices, "TEXT_BLOCK_BYTES", 500)
    pieces = deciban.train(table, target="verdict", roles=ROLES)
    texts = [block.kind == "bags" for block in whole.ledger.schema.blocks]
    assert sum(texts) == 2
    for text, a, b in zip(texts, whole.ledger.parts, pieces.ledger.parts):
        assert not text or a == b
    assert np.allclose(log_proba(pieces, table), log_proba(whole, table), rtol=1e-9)
    assert pieces.held_out.accuracy == whole.held_out.accuracy


@pytest.mark.parametrize("words", [{}, {"values": "presence"}, {"hashed": 8}, {"values": "log"}])
def test_exact_folds_are_models_of_the_other_rows(words):
    table = reviews()
    k = 5
    report = deciban.evaluate(table, target="verdict", roles=ROLES, folds=k, words=words, calibrate="none")
    labels, hits, loss = table.column("verdict").to_pylist(), 0, 0.0
    for f in range(k):
        mine = stratified(labels, k) == f
        model = train_model(table.filter(pa.array(~mine)), roles=ROLES, words=words)
        p = log_proba(model, table.filter(pa.array(mine)))
        codes = np.array([model.classes.index(label) for label, own in zip(labels, mine) if own])
        hits += int((p.argmax(axis=1) == codes).sum())
        loss -= p[np.arange(len(codes)), codes].sum()
    assert report.accuracy == pytest.approx(hits / len(table))
    assert report.log_loss == pytest.approx(loss / len(table), rel=1e-9)


def test_training_scores_every_row_as_exact_folds_do():
    model = deciban.train(reviews(), target="verdict", roles=ROLES)
    report = deciban.evaluate(reviews(), target="verdict", roles=ROLES, folds=10)
    assert model.held_out.accuracy == report.accuracy
    assert model.held_out.log_loss == pytest.approx(report.log_loss, rel=1e-12)


def test_the_total_of_the_folds_is_the_ledger_without_folds():
    task = plan(reviews(), target="verdict", roles=ROLES)
    ten = train_task(task, 10, None)
    assert ten.total.parts[-2:] == train_task(task, 1, None).total.parts[-2:]
    together = ten.folds[0]
    for fold in ten.folds[1:]:
        together += fold
    assert ten.total == together
    assert all(isinstance(part, Bags) for part in ten.total.parts[-2:])


def test_where_folds_take_too_much_memory_they_are_given_up_and_nothing_else(monkeypatch):
    expected = train_model(reviews(), roles=ROLES)
    monkeypatch.setattr("deciban.model.summarise_table.MAX_FOLD_CELLS", 1000)
    model = deciban.train(reviews(), target="verdict", roles=ROLES)
    assert model.held_out is None
    assert model.ledger.parts[-2:] == expected.ledger.parts[-2:]
    assert np.allclose(model.predict_log_proba(reviews()), expected.predict_log_proba(reviews()), rtol=1e-9)


def test_the_sample_to_be_scored_is_bounded_by_the_size_of_its_texts(monkeypatch):
    table = reviews(missing=False).select(["text", "verdict"])
    monkeypatch.setattr(reservoir, "MAX_SAMPLE_BYTES", 3000)
    found = []
    for block in (400, 1 << 20):
        monkeypatch.setattr(matrices, "TEXT_BLOCK_BYTES", block)
        sample = train_task(plan(table, target="verdict"), 10, None).sample
        found.append(sample.number.tolist())
    sizes = [len(text.encode()) for text in texts_of(table)]
    order = np.argsort(reservoir.hash_row_numbers(np.arange(len(table))))
    kept = int(np.searchsorted(np.cumsum(np.array(sizes)[order]), 3000, side="right"))
    assert found[0] == found[1] == sorted(order[:kept].tolist())
    assert sample.parts[0].shape == (kept, len(train_model(table).ledger.schema.blocks[0].names))
    report = deciban.train(table, target="verdict").held_out
    assert f"{kept} of {len(table)} rows" in report.measured


def halves(table):
    return table.slice(0, 100), table.slice(100)


@pytest.mark.parametrize("words", [{}, {"values": "presence", "ngrams": 2}, {"hashed": 6}])
def test_models_with_texts_obey_the_algebra(words):
    table = reviews()
    whole = train_model(table, roles=ROLES, words=words)
    a, b = (train_model(part, like=whole) for part in halves(table))
    ask = reviews(40, seed=3)

    def close(x, y):
        assert x.ledger.parts[-2:] == y.ledger.parts[-2:]
        assert x.ledger.schema == y.ledger.schema
        assert np.allclose(log_proba(x, ask), log_proba(y, ask), rtol=1e-9, atol=1e-12)

    close(a + b, whole)
    close(b + a, whole)
    close((a + b) - b, a)
    close(train_model(halves(table)[0], like=whole).add(halves(table)[1]), whole)
    close(train_model(table, like=whole).forget(halves(table)[1]), a)
    close(whole * 2, whole + whole)
    close((whole * 0.5) + (whole * 0.5), whole)


def test_other_priors_move_the_odds_and_nothing_else():
    table, ask = reviews(), reviews(40, seed=3)
    model = train_model(table, roles=ROLES)
    even = model.with_priors("uniform")
    shift = np.diff(log_proba(model, ask)) - np.diff(log_proba(even, ask))
    assert np.allclose(shift, np.log(model.priors["good"] / model.priors["bad"]))
    assert even.ledger is model.ledger


def test_two_texts_have_vocabularies_of_their_own_whatever_order_they_stand_in():
    table = reviews()
    model = train_model(table, roles=ROLES)
    heads, texts = (set(block.names) for block in model.ledger.schema.blocks[-2:])
    assert "once" in heads
    assert "once" not in texts
    turned = train_model(table.select(["head", "country", "text", "verdict", "stars"]), roles=ROLES)
    assert (model + turned).ledger.parts[-2:] == (model * 2).ledger.parts[-2:]


def test_forgetting_a_text_that_was_not_learned_is_refused_and_changes_nothing():
    model = train_model(reviews(), roles=ROLES)
    before = model.ledger
    unusual = pa.table({**reviews(2).to_pydict(), "text": ["an unheard sentence"] * 2})
    with pytest.raises(deciban.errors.ForgetError, match="word"):
        model.forget(unusual)
    assert model.ledger is before


def test_models_that_read_texts_differently_are_not_added():
    table = reviews()
    a, b = train_model(table, roles=ROLES), train_model(table, roles=ROLES, words=Words(lower=False))
    with pytest.raises(SchemaError, match="read texts differently: lower is True in one and False in the other"):
        a + b
    plain = {**ROLES, "text": "skip", "head": "skip"}
    assert train_model(table, roles=plain) + train_model(table, roles=plain, words={"lower": False})


def test_like_takes_the_reading_of_the_other_model():
    model = train_model(reviews(), roles=ROLES, words={"ngrams": 2})
    assert train_model(reviews(), like=model).options.words == Words(ngrams=2)


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        ("two", "one of 'classic', 'modern'"),
        (2, "a mapping"),
        ({"grams": 2}, "not specified by 'grams'"),
        ({"ngrams": 0}, "ngrams"),
    ],
)
def test_a_reading_that_is_none_is_refused(words, reported):
    with pytest.raises(InputError, match=reported):
        train_model(reviews(), words=words)


def test_numbers_are_no_text():
    with pytest.raises(InputError, match=r"column 'stars' cannot be read as text: .*double.*--as stars=category"):
        train_model(reviews(), roles={"stars": "text"})


def test_a_class_without_texts_is_scored_by_what_all_have():
    rows = {"text": ["a fine day in june", "such a wet day", None], "x": [1.0, 2.0, 3.0], "y": ["p", "p", "q"]}
    model = deciban.train(rows, target="y", roles={"text": "text", "x": "number"}, judge=False, alpha=0.0)
    result = model.predict_proba({"text": ["fine day", None], "x": [2.0, 2.0]})
    assert np.allclose(result[0], result[1])


def test_texts_without_a_single_word_say_nothing():
    rows = {"text": ["?", "!", "…", None], "x": [1.0, 2.0, 5.0, 6.0], "y": ["p", "p", "q", "q"]}
    model = deciban.train(rows, target="y", roles={"text": "text", "x": "number"}, judge=False)
    alone = deciban.train(rows, target="y", roles={"text": "skip", "x": "number"}, judge=False)
    assert model.ledger.schema.blocks[-1].width == 0
    assert np.allclose(model.predict_proba(rows), alone.predict_proba(rows))


def test_weights_are_repetitions():
    table = reviews(60)
    times = np.arange(60) % 3
    weighted = train_model(table.append_column("w", pa.array(times.astype(float))), roles=ROLES, weights="w")
    repeated = train_model(table.take(np.repeat(np.arange(60), times)), roles=ROLES)
    assert weighted.ledger.parts[-2:] == repeated.ledger.parts[-2:]
    assert weighted.ledger.schema == repeated.ledger.schema


def test_the_number_of_threads_changes_nothing():
    table = reviews(2000)
    task = plan(table, target="verdict", roles=ROLES)
    found = []
    for jobs in (1, 3):
        summariser: TableSummariser = task.summariser(10, FoldAssignment(10))
        summariser.n_jobs = jobs
        for _ in summariser.read(open_source(table)):
            pass
        found.append(summariser.total_and_folds[1])
    assert found[0] == found[1]


def test_folds_are_pooled_though_the_next_block_has_a_new_class():
    """Blocks are read ahead: the classes of the next one may be known before the folds of this one are pooled."""
    table = reviews(200)
    task = plan(table, target="verdict", roles=ROLES)
    pooled, plain = (task.summariser(4, FoldAssignment(4)) for _ in range(2))
    for summariser in (pooled, plain):
        for _ in summariser.read(open_source(table)):
            pass
    pooled.classes.encode(pa.array(["a new class"]))
    pooled._pool_folds()
    total, folds = pooled.total_and_folds
    assert len(folds) == 1
    assert total.schema.classes == plain.total_and_folds[0].schema.classes
    assert total.rows.tolist() == plain.total_and_folds[0].rows.tolist()


def test_a_file_is_read_as_its_bytes_are_given(tmp_path):
    table = reviews(40).select(["head", "verdict"])
    path = tmp_path / "t.csv"
    as_csv(table, path)
    path.write_bytes(path.read_text(encoding="utf-8").encode("latin-1"))
    model = train_model(path, encoding="latin-1")
    assert "café" in model.ledger.schema.blocks[0].names
    assert model.predict(path, encoding="latin-1").read_all().num_rows == 40


def test_parquet_with_one_huge_group_is_read_in_pieces(tmp_path, monkeypatch):
    from deciban.sources import arrow_sources as files

    monkeypatch.setattr(files, "TEXT_BATCH_BYTES", 1000)
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(reviews(), path)
    read = list(open_source(path).batches({"text": "words", "verdict": "text"}))
    assert len(read) > 10
    assert train_model(path, roles=ROLES).ledger == train_model(reviews(), roles=ROLES).ledger


@pytest.mark.parametrize("unseen", ["ignore", "error"])
def test_a_model_is_scored_by_other_rows(unseen):
    table, others = reviews(), reviews(80, seed=7)
    model = train_model(table, roles=ROLES, unseen=unseen)
    report = deciban.evaluate(others, model=model)
    hits = np.asarray(model.predict(others)) == np.asarray(others.column("verdict"))
    assert report.accuracy == pytest.approx(hits.mean())


def test_a_number_without_end_is_named_with_a_text():
    model = train_model(reviews(), roles=ROLES)
    rows = reviews(9).set_column(1, "stars", pa.array([1.0] * 8 + [np.inf]))
    with pytest.raises(InputError, match="column 'stars' holds inf, which is not finite"):
        model.predict(rows)


def test_a_file_is_answered_by_a_stream(tmp_path, monkeypatch):
    monkeypatch.setattr(matrices, "TEXT_BLOCK_BYTES", 1000)
    model, table = train_model(reviews(), roles=ROLES), reviews(90, seed=2)
    stream = model.predict_proba(as_csv(table, tmp_path / "t.csv"))
    batches = list(stream)
    assert len(batches) > 5
    assert np.allclose(np.asarray(pa.Table.from_batches(batches)), np.asarray(model.predict_proba(table)))
