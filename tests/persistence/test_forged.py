"""Forged model files: whatever their values are, loading refuses them or gives a model that works."""

import random
import warnings

import numpy as np
import pytest

import deciban
from deciban import persistence
from deciban.errors import InputError, ModelFileError
from tests.fuzz import model_bytes, model_files
from tests.timing import least_seconds


def forge(path, model, change):
    """A file of the model whose header and arrays are changed, with checksums that fit."""
    model.save(path)
    text, arrays = model_files.unpack(path.read_bytes())
    change(text["header"], arrays)
    path.write_bytes(model_files.pack(text, arrays))
    return path


def test_half_of_the_forger_s_files_pass_the_checks_of_the_container(path):
    refused = []
    for seed in range(60):
        rng = random.Random(seed)
        path.write_bytes(model_files.mutate(rng.choice(model_files.seeds()), rng))
        try:
            persistence.read(path)
        except ModelFileError as error:
            refused.append(str(error))
    assert len(refused) < 30


@pytest.mark.parametrize("name", ["a" * 60_000 + "&", "a&" * 30_000, "\\" * 60_000, " & " * 20_000])
def test_a_long_name_of_a_level_is_refused_within_a_second_of_cpu_time(name, path):
    def change(header, arrays):
        part = next(n for n in sorted(arrays) if n.endswith("levels/utf8")).removesuffix("/utf8")
        utf8, offsets = arrays[f"{part}/utf8"].tobytes(), arrays[f"{part}/offsets"]
        at = next(i for i in range(len(offsets) - 1) if b" & " in utf8[offsets[i] : offsets[i + 1]])
        new = name.encode()
        arrays[f"{part}/utf8"] = np.frombuffer(utf8[: offsets[at]] + new + utf8[offsets[at + 1] :], np.uint8)
        arrays[f"{part}/offsets"] = offsets + np.where(
            np.arange(len(offsets)) > at, len(new) - int(offsets[at + 1] - offsets[at]), 0
        ).astype(offsets.dtype)

    forge(path, model_bytes.MODELS["table with blocks"](), change)

    def refuse():
        with pytest.raises(ModelFileError, match="not a combination of levels"):
            deciban.load(path)

    assert least_seconds(refuse, 1.0) <= 1.0


@pytest.mark.parametrize("ngrams", [[1, 101], [1, 100_000], [1, 1 << 62]])
@pytest.mark.parametrize("kind", ["words", "mapping", "table"])
def test_ngrams_beyond_the_bound_are_refused(kind, ngrams, path):
    def change(header, arrays):
        if kind == "table":
            header["options"]["words"]["ngrams"] = ngrams
        else:
            low, high = ({"type": "plain", "value": n} for n in ngrams)
            header["parameters"]["words"]["value"]["ngrams"] = {"type": "list", "value": [low, high]}

    words = deciban.Words(ngrams=2) if kind == "words" else {"ngrams": 2}
    model = model_bytes.table_with_texts(words=words) if kind == "table" else model_bytes.text_model(words=words)
    with pytest.raises(ModelFileError, match="from 1 to 100"):
        deciban.load(forge(path, model, change))


def gaussian():
    return model_bytes.MODELS["GaussianNB"]()


REFUSED = {
    "no class has a prior": ("belief/solved/log_prior", -np.inf),
    "a prior that is no logarithm of it": ("belief/solved/log_prior", -5.0),
    "a mean whose square overflows": ("belief/ledger/parts/0/mean", 1e200),
    "a rest whose square overflows": ("belief/ledger/parts/0/rest", -1e200),
    "squares that have no mean": ("belief/ledger/parts/0/weight", 1e-280),
    "squares without a sum": ("belief/ledger/parts/0/m2", 1e301),
}


@pytest.mark.parametrize("case", REFUSED)
def test_numbers_that_would_make_nan_are_refused(case, path):
    name, value = REFUSED[case]

    def change(header, arrays):
        arrays[name] = np.full_like(arrays[name], value)
        if case == "squares that have no mean":
            arrays["belief/ledger/parts/0/m2"] = np.full_like(arrays["belief/ledger/parts/0/m2"], 1e290)

    with pytest.raises(ModelFileError, match="not sound"):
        deciban.load(forge(path, gaussian(), change))


def test_a_pseudo_count_without_a_sum_is_refused(path):
    def change(header, arrays):
        header["belief"]["families"][0]["alpha"] = 1e308

    with pytest.raises(ModelFileError, match="'alpha' should be a number from 0 to"):
        deciban.load(forge(path, model_bytes.MODELS["MultinomialNB"](), change))


@pytest.mark.parametrize("text", ["\n" * 60_000, "x" * 60_000, "\x1b[2J"])
def test_a_message_is_one_short_line_of_printable_characters(text, path):
    def change(header, arrays):
        header["belief"]["families"][0][text] = header["parameters"][text] = {"type": "plain", "value": text}

    with pytest.raises(ModelFileError) as refused:
        deciban.load(forge(path, gaussian(), change))
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 1000


def test_sums_that_overflow_are_refused_and_nothing_changes(path):
    def change(header, arrays):
        arrays["belief/ledger/parts/0/total"][:] = 1e300

    model = deciban.load(forge(path, model_bytes.MODELS["MultinomialNB"](), change))
    before = model.ledger_
    with pytest.raises(InputError, match="too large"):
        model.decay(1e9)
    assert model.ledger_ is before


def test_evidence_beyond_all_doubles_is_infinite_without_a_warning(path):
    def change(header, arrays):
        arrays["belief/solved/forms/0/weights"][0] = 1e300

    model = deciban.load(forge(path, model_bytes.MODELS["MultinomialNB"](), change))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = model.explain(5e7 * np.eye(4))
    assert np.isposinf(result.total).all()


def test_a_whole_number_beyond_all_doubles_is_refused(path):
    def change(header, arrays):
        header["parameters"]["var_smoothing"] = {"type": "number", "value": 10**400}

    with pytest.raises(ModelFileError, match="a whole number of 401 digits"):
        deciban.load(forge(path, gaussian(), change))


def test_a_class_that_is_a_whole_number_beyond_all_doubles_is_refused(path):
    def change(header, arrays):
        labels = [str(10**400).encode(), b"1", b"2"]
        arrays["belief/ledger/schema/classes/utf8"] = np.frombuffer(b"".join(labels), np.uint8)
        arrays["belief/ledger/schema/classes/offsets"] = np.cumsum([0, *map(len, labels)], dtype=np.int32)
        header["labels"] = "|O"

    with pytest.raises(ModelFileError, match="a class is named by a whole number beyond"):
        deciban.load(forge(path, gaussian(), change))


def test_counts_too_large_to_be_drawn_are_refused(path):
    def change(header, arrays):
        arrays["belief/ledger/parts/0/total"][:] = 1e150

    model = deciban.load(forge(path, model_bytes.MODELS["MultinomialNB"](), change))
    with pytest.raises(InputError, match="too large to draw counts from"):
        model.sample(3, random_state=0)


@pytest.mark.parametrize(("name", "value"), [("size", 0.0), ("size", -1.0), ("size", "inf"), ("common_trust", "inf")])
def test_settings_that_weights_are_divided_by_are_refused_where_they_have_no_quotient(name, value, path):
    def change(header, arrays):
        header["belief"]["learned"]["account"]["settings"][name] = value

    with pytest.raises(ModelFileError, match="not sound"):
        deciban.load(forge(path, model_files.MODELS["EvidenceRegression"](), change))


def test_strengths_beyond_all_doubles_are_described_without_a_warning(path):
    def change(header, arrays):
        arrays["belief/basis/ledger/parts/0/m2"][0, 0] = 1e200

    model = deciban.load(forge(path, model_bytes.MODELS["table, boosted"](), change))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "diagnosis" in str(model.describe())


def test_sums_without_a_covariance_are_refused_when_they_are_used(path):
    def change(header, arrays):
        arrays["belief/ledger/parts/0/comoment"][2, 1, 0] = 1e150

    model = deciban.load(forge(path, model_bytes.MODELS["GaussianBayes-full"](), change))
    merged = model + model
    with pytest.raises(InputError, match="no covariance that can be computed"):
        merged.predict_proba(np.ones((2, 4)))
    with pytest.raises(InputError, match="no covariance that can be computed"):
        merged.sample(3, random_state=0)


@pytest.mark.parametrize("name", ["table with texts", "table", "table, auto"])
def test_negative_zeros_are_read_as_zeros(name, path):
    def change(header, arrays):
        for array_name in ("total", "table", "documents/total"):
            for array in (a for n, a in arrays.items() if "/ledger/parts/" in n and n.endswith(f"/{array_name}")):
                array.reshape(-1)[:3] = -0.0

    model = deciban.load(forge(path, model_bytes.MODELS[name](), change))
    model.sample(3, random_state=0)
    assert "rows" in str(model.describe())


def test_a_block_without_a_covariance_is_refused_when_it_is_described(path):
    def change(header, arrays):
        name = next(n for n in arrays if n.endswith("/comoment") and "/ledger/" in n)
        arrays[name][0, 1, 0] = 1e150

    model = deciban.load(forge(path, model_bytes.MODELS["table with blocks"](), change))
    with pytest.raises(InputError, match="no covariance that can be computed"):
        model.describe()


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_words_counted_beyond_all_doubt_are_telltales_without_a_warning(path):
    def change(header, arrays):
        arrays["belief/ledger/parts/0/documents/total"][:] = arrays["belief/ledger/parts/0/total"][:] = 1e290

    model = deciban.load(forge(path, model_bytes.MODELS["texts"](), change))
    assert not np.isnan([[word.decibans, word.low, word.high] for word in model.telltales("a")]).any()


@pytest.mark.parametrize(
    ("name", "forged", "why"),
    [
        ("extremes/value", lambda a: a[:, :, ::-1], "should ascend"),
        ("extremes/value", lambda a: a * np.nan, "should lie between"),
        ("extremes/rows", lambda a: a * 0, "each with its rows"),
        ("extremes/rows", lambda a: a + (1 << 40), "should lie between"),
        ("extremes/limit", lambda a: a * 0 - 1e9, "up to their limit"),
        ("extremes/value", lambda a: a[:, :1], "should be of shape"),
        ("learned/buckets", lambda a: a[:9], "should be of shape"),
        ("learned/buckets", lambda a: a + (1 << 60), "should lie between"),
        ("learned/rows", lambda a: a[:0], "as many 'rows' as 'totals'"),
        ("learned/totals", lambda a: np.resize(a, 3), "as many 'rows' as 'totals'"),
        ("learned/rows", lambda a: a - 10**6, "should lie between"),
    ],
)
def test_forged_extremes_and_sketches_are_refused(name, forged, why, path):
    def change(header, arrays):
        arrays[f"origin/{name}"] = np.ascontiguousarray(forged(arrays[f"origin/{name}"]))

    forge(path, model_bytes.MODELS["table"](), change)
    with pytest.raises(ModelFileError, match=why):
        deciban.load(path)


@pytest.mark.parametrize(
    ("column", "forged", "why"),
    [
        (1, {"number_format": {"decimal": ",", "thousands": ",", "unit": ""}}, "impossible"),
        (1, {"number_format": {"decimal": ";", "thousands": "", "unit": ""}}, "'decimal' should be one of"),
        (1, {"number_format": {"decimal": ".", "thousands": "x", "unit": ""}}, "'thousands' should be one of"),
        (1, {"number_format": {"decimal": ".", "thousands": "", "unit": "k" * 13}}, "impossible"),
        (1, {"number_format": {"decimal": ".", "thousands": "", "unit": "m 2"}}, "holds a digit, a space"),
        (1, {"number_format": {"decimal": ".", "thousands": "", "unit": "a\0"}}, "control character"),
        (1, {"number_format": [1]}, "number_format"),
        (0, {"date_order": "dmy"}, "'date_order' should be one of"),
        (0, {"date_order": "month-first"}, "fingerprint"),
        (1, {"date_order": "day-first"}, "a number has no order of dates"),
    ],
)
def test_forged_formats_of_numbers_and_dates_are_refused(column, forged, why, path):
    def change(header, arrays):
        header["columns"][column] = {k: v for k, v in header["columns"][column].items() if "_" not in k} | forged

    with pytest.raises(ModelFileError, match=why):
        deciban.load(forge(path, model_bytes.MODELS["table, written by people"](), change))
