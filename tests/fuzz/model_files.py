"""Forged model files: any value, list, name or array changed, and all checksums made to fit.

A forged file is either refused by `deciban.load` with a one-line ModelFileError, or gives a model whose every use
ends soon, with finite probabilities that add up to 1, or with an error of deciban's own.
"""

import contextlib
import copy
import hashlib
import json
import os
import random
import re
import tempfile
import warnings
import zlib
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np

import deciban
from deciban.errors import DecibanError, ModelFileError
from deciban.ledger.hashing import SURROGATES, hash_words
from deciban.persistence import container
from deciban.persistence.file_header import DTYPE_NAMES, DTYPES, checksum, format_array_entry
from tests.fuzz import model_bytes
from tests.fuzz.mutation import write_input
from tests.fuzz.runner import begin_operation
from tests.tables import clinic
from tests.tables.reviews import reviews

MAX_FEATURES = 1 << 16
"""Rows of wider models would take too much memory; the width of a mapped file is read before its arrays."""

SCALARS = [
    float("nan"), float("inf"), float("-inf"), "inf", "-inf", "nan", -1, 0, 1, 2, 3, 100, 1000, 100_000, 0.5, -0.5,
    1e-320, 1e16, 1e150, 1e300, 1e308, -1e308, 1 << 24, 1 << 31, 1 << 53, 1 << 62, 1 << 63, 10**30, 10**400, True,
    False, None, "", "x", [], {}, [1], [1, 100_000], ["a", "a"], {"a": 1},
]  # fmt: skip
"""Values that take the place of any value of the header."""

PIECES = [
    "a",
    " ",
    "&",
    "a&",
    " & ",
    "\\",
    "\\&",
    "\x00",
    "\x1b[2J",
    "\n",
    "é",
    "😀",
    "\ud800",
    "0",
    "%",
    "{",
    '"',
    ", ",
]
"""The texts that long texts are repetitions of."""

FLOATS = [
    np.nan, np.inf, -np.inf, -1.0, 0.0, -0.0, 1.0, 0.5, 5e-324, 1e-300, 1e-160, 1e16, 1e100, 1e150, 1e200, 1e300,
    1e308, -1e308, 1.7e308,
]  # fmt: skip
INTEGERS = [-1, 0, 1, 2, 3, 255, 1 << 20, (1 << 31) - 1, -(1 << 31)]
LONG_INTEGERS = [*INTEGERS, 1 << 32, 1 << 40, 1 << 53, (1 << 63) - 1, -(1 << 63)]


# Reading and writing the container.


def unpack(raw: bytes) -> tuple[dict, dict]:
    """Return deciban's own text and the arrays of a file, by the rules of the format."""
    length = int.from_bytes(raw[:8], "little")
    table, data = json.loads(raw[8 : 8 + length]), raw[8 + length :]
    text = json.loads(table.pop("__metadata__")["deciban"])
    arrays = {}
    for name, entry in table.items():
        a, b = entry["data_offsets"]
        arrays[name] = np.frombuffer(data[a:b], dtype=DTYPES[entry["dtype"]]).reshape(entry["shape"]).copy()
    return text, arrays


def pack(text: dict, arrays: dict) -> bytes:
    """Return a file of this text and these arrays, with matching checksums."""
    order = sorted(arrays, key=lambda name: -arrays[name].dtype.itemsize)
    arrays = {name: np.ascontiguousarray(arrays[name]) for name in order}
    sums = {n: format_array_entry(DTYPE_NAMES[a.dtype], a.shape, checksum(a.reshape(-1))) for n, a in arrays.items()}
    transposed = text.get("transposed")
    if isinstance(transposed, list):
        text = {**text, "transposed": [name for name in transposed if isinstance(name, str) and name in arrays]}
    if isinstance(text.get("checksums"), dict):
        text = {**text, "checksums": sums}
    written, table, end = json.dumps(text), {}, 0
    for name, array in arrays.items():
        place = [end, end + array.nbytes]
        table[name] = {"dtype": DTYPE_NAMES[array.dtype], "shape": list(array.shape), "data_offsets": place}
        end += array.nbytes
    table["__metadata__"] = {"deciban": written, "checksum": checksum(written.encode("utf-8", SURROGATES))}
    return _frame(table, b"".join(a.tobytes() for a in arrays.values()))


def _frame(table: dict, data: bytes) -> bytes:
    """Return a safetensors file."""
    header = json.dumps(table).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + data


# Models to begin with.


def _boosted_numbers():
    example = model_bytes.find_example("GaussianNB")
    return deciban.BoostedBayes(deciban.GaussianNB(), n_estimators=3).fit(*example.data())


def _boosted_levels():
    example = model_bytes.find_example("CategoricalNB")
    return deciban.BoostedBayes(deciban.CategoricalNB(), n_estimators=2).fit(*example.data())


def _evidence_regression():
    documents = ["tea pot tea", "milk, cup and pot", "", "sugar leaf leaf", "tea with milk", "go to the pot"]
    return deciban.EvidenceRegression(C=1.0).fit(documents, [*"ababab"])


def _naive_bayes_of_frame():
    frame = clinic.patients(60).drop_columns(["patient", "ward"]).to_pandas().dropna(subset=["diagnosis"])
    model = deciban.NaiveBayes(blocks=[["smoker", "code"]])
    return model.fit(frame.drop(columns="diagnosis"), frame["diagnosis"])


def _calibrated_texts():
    documents = [
        "tea pot tea",
        "milk, cup and pot",
        "sugar leaf",
        "sugar leaf leaf",
        "tea with milk",
        "go to the pot",
    ] * 3
    return deciban.TextClassifier().calibrated(documents, [*"ab"] * 9, "platt", folds=3)


MODELS = model_bytes.MODELS | {
    "BoostedBayes": _boosted_numbers,
    "BoostedBayes of levels": _boosted_levels,
    "EvidenceRegression": _evidence_regression,
    "NaiveBayes of a frame": _naive_bayes_of_frame,
    "texts, calibrated": _calibrated_texts,
    "texts by characters": lambda: model_bytes.text_model(words={"tokens": "characters in words", "ngrams": [2, 4]}),
    "table, isotonic": lambda: deciban.train(clinic.patients(80), target="diagnosis", calibrate="isotonic"),
    "table, weighted": lambda: deciban.train(clinic.patients(80), target="diagnosis", weights="dose", judge=False),
}
"""Models of every kind, by name."""


@cache
def seeds() -> list[bytes]:
    """Return valid model files of every kind."""
    made = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for build in MODELS.values():
            path = Path(folder) / "m.deciban"
            build().save(path)
            made.append(path.read_bytes())
    return made


# Changes.


def mutate(raw: bytes, rng: random.Random) -> bytes:
    """Make one to three changes of the values of a file."""
    text, arrays = unpack(raw)
    if rng.random() < 0.5:
        text["header"].pop("reader", None)  # optional: without it nothing else names the columns and their roles
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        rng.choice(CHANGES)(text, arrays, rng)
    try:
        forged = pack(text, arrays)
    except MemoryError:  # several changes, each of which multiplied the text
        return raw
    return rng.choice([damage, change_table])(forged, rng) if rng.random() < 0.05 else forged


def damage(raw: bytes, rng: random.Random) -> bytes:
    """Change, remove or insert bytes."""
    content = bytearray(raw)
    at, size = rng.randrange(len(content)), rng.randrange(64)
    content[at : at + size] = rng.randbytes(rng.choice([0, size, 2 * size]))
    return bytes(content)


def change_table(raw: bytes, rng: random.Random) -> bytes:
    """Change the shape, offsets or dtype of an array."""
    length = int.from_bytes(raw[:8], "little")
    table = json.loads(raw[8 : 8 + length])
    entry = table[rng.choice(sorted(name for name in table if name != "__metadata__"))]
    match rng.randrange(3):
        case 0:
            entry["shape"] = rng.choices(LONG_INTEGERS, k=rng.randrange(5))
        case 1:
            entry["data_offsets"] = rng.choices([*LONG_INTEGERS, len(raw) - length - 8], k=2)
        case 2:
            entry[rng.choice(["dtype", "shape", "data_offsets"])] = rng.choice([*SCALARS, "F64", "I64", "F8_E4M3"])
    return _frame(table, raw[8 + length :])


def _places(value, found=None) -> list:
    """Return every (owner, key) within lists and objects."""
    found = [] if found is None else found
    for key, inner in list(value.items() if isinstance(value, dict) else enumerate(value)):
        found.append((value, key))
        if isinstance(inner, (dict, list)):
            _places(inner, found)
    return found


def _place(text, rng, *kinds):
    """Return an (owner, key) of the header whose value has one of these types."""
    places = [(o, k) for o, k in _places(text["header"]) if not kinds or type(o[k]) in kinds]
    return rng.choice(places) if places else (text["header"], "kind")


def change_value(text, arrays, rng):
    """Replace any value by an odd one."""
    owner, key = _place(text, rng)
    owner[key] = copy.deepcopy(rng.choice(SCALARS))


def change_number(text, arrays, rng):
    """Replace a number by another, near or far."""
    owner, key = _place(text, rng, int, float)
    now = owner[key]
    is_double = isinstance(now, (int, float)) and abs(now) < 1e300  # JSON may hold longer integers
    near = [now + 1, now - 1, 2 * now, -now, float(now), now + 0.5] if is_double else []
    owner[key] = rng.choice([*near, *SCALARS[:30]])


def change_text(text, arrays, rng):
    """Replace a text by an empty, long or odd one, or by another text of the same file."""
    owner, key = _place(text, rng, str)
    words = sorted({o[k] for o, k in _places(text["header"]) if isinstance(o[k], str)})
    owner[key] = rng.choice([odd_text(rng), rng.choice(words), rng.choice(words)])


def odd_text(rng) -> str:
    """Return an empty, long or otherwise odd text."""
    return rng.choice(
        ["", "../../x", rng.choice(PIECES), rng.choice(PIECES) * 60_000, rng.choice(PIECES) * 60_000 + "&"]
    )


def change_list(text, arrays, rng):
    """Remove, repeat or shuffle the items of a list."""
    owner, key = _place(text, rng, list)
    items = owner[key]
    if not isinstance(items, list):
        return
    match rng.randrange(6):
        case 0:
            items.clear()
        case 1:
            items.extend(copy.deepcopy(items))
        case 2:
            rng.shuffle(items)
        case 3:
            del items[rng.randrange(len(items) + 1) :]
        case 4:
            items.reverse()
        case 5:
            items.extend(copy.deepcopy(items[:1]) * 1000)


def change_object(text, arrays, rng):
    """Remove or add a key of an object, or exchange two values."""
    owner, _ = _place(text, rng)
    if not isinstance(owner, dict) or not owner:
        return
    a, b = rng.choice(sorted(owner)), rng.choice(sorted(owner))
    match rng.randrange(4):
        case 0:
            del owner[a]
        case 1:
            owner[odd_text(rng)] = copy.deepcopy(owner[a])
        case 2:
            owner[a], owner[b] = owner[b], owner[a]
        case 3:
            owner[b] = copy.deepcopy(owner[a])


def transplant(text, arrays, rng):
    """Replace a part, with its arrays, by the part of the same name of another model."""
    other, theirs = unpack(rng.choice(seeds()))
    mine = dict(_sections(text["header"]))
    shared = [item for item in _sections(other["header"]) if item[0] in mine]
    if not shared:
        return
    path, (owner, key) = rng.choice(shared)
    into, at = mine[path]
    into[at] = copy.deepcopy(owner[key])
    for name in [name for name in arrays if name.startswith(f"{path}/")]:
        del arrays[name]
    arrays |= {name: array for name, array in theirs.items() if name.startswith(f"{path}/")}
    for alias, name in other["aliases"].items():
        if alias.startswith(f"{path}/") and name not in arrays:
            arrays[alias] = theirs[name]


def _sections(value, path=""):
    """Yield every part of a header by its path."""
    for key, inner in list(value.items() if isinstance(value, dict) else enumerate(value)):
        if isinstance(inner, (dict, list)):
            yield f"{path}{key}", (value, key)
            yield from _sections(inner, f"{path}{key}/")


WORDS = {
    "lower": [True, False],
    "tokens": ["words", "whitespace", "characters", "characters in words"],
    "ngrams": [[1, 1], [1, 2], [2, 3], [1, 100], [99, 100], [1, 101], [1, 100_000]],
    "stop": [None, ["a"], ["", " ", "tea"], ["\ud800" * 9], ["x" * 60_000]],
    "least_length": [None, 1, 2, 1 << 62],
    "values": ["counts", "presence", "log"],
    "length": [None, "l1", "l2"],
    "hashed": [None, 1, 5, 24],
}
"""Arguments of `Words` that a file may name."""


def change_reading(text, arrays, rng):
    """Change the tokenizer, and all values that depend on it."""
    header = text["header"]
    table = header.get("options", {}).get("words") if isinstance(header.get("options"), dict) else None
    old, changed = deciban.Words(), {"ngrams": [1, 100_000]}
    try:
        written = {} if table else header["parameters"]["words"]["value"] or {}
        old = deciban.Words.from_dict(table or {n: _from_file_value(v) for n, v in written.items()})
        name = rng.choice(sorted(WORDS))
        changed = {**old.to_dict(), name: rng.choice(WORDS[name])}
        new = deciban.Words.from_dict(changed)
    except (KeyError, TypeError, AttributeError):
        return
    except DecibanError:
        new = old
    if table is None:
        header["parameters"]["words"] = {"type": "words", "value": {n: _to_file_value(v) for n, v in changed.items()}}
    else:
        header["options"]["words"] = changed
    if "reader" in header and table is None:
        header["reader"] = new.fingerprint
    else:
        header.pop("reader", None)
    for owner, key in _places(header):
        if owner[key] == old.reading:
            owner[key] = new.reading


def _from_file_value(written):
    """Return an argument from its form in a file."""
    value = written["value"]
    return [item["value"] for item in value] if isinstance(value, list) else value


def _to_file_value(value):
    """Return an argument in its form in a file."""
    if isinstance(value, list):
        return {"type": "list", "value": [_to_file_value(item) for item in value]}
    return {"type": "plain", "value": value}


def _array(arrays, rng):
    return rng.choice(sorted(arrays))


def change_elements(text, arrays, rng):
    """Replace some elements of an array by odd ones."""
    name = _array(arrays, rng)
    array = arrays[name] = arrays[name].copy()
    if not array.size:
        arrays[name] = np.zeros(1, array.dtype)
        return
    kinds = {"f": FLOATS, "b": [True, False], "u": [0, 32, 65, 128, 255]}
    values = kinds.get(array.dtype.kind, INTEGERS if array.dtype.itemsize == 4 else LONG_INTEGERS)
    flat = array.reshape(-1)
    some = rng.sample(range(flat.size), min(flat.size, rng.choice([1, 1, 2, flat.size])))
    flat[some] = np.array(rng.choice(values), dtype=array.dtype)
    if rng.random() < 0.3:
        flat[some[: (len(some) + 1) // 2]] = np.array(rng.choice(values), dtype=array.dtype)


def scale_elements(text, arrays, rng):
    """Multiply all numbers of an array by a factor: they stay consistent among themselves."""
    names = sorted(name for name, array in arrays.items() if array.dtype == np.float64 and array.size)
    if not names:
        return
    name = rng.choice(names)
    with np.errstate(all="ignore"):
        if rng.random() < 0.5:
            arrays[name] = arrays[name] * rng.choice([-1.0, 0.0, 1e-300, 1e-150, 1e-20, 1e20, 1e150, 1e290, 2.0, 0.5])
        else:
            arrays[name] = arrays[name] + rng.choice([-1.0, 1.0, 1e20, -1e20, 1e150, -1e150, 1e300, -1e300])


def change_shape(text, arrays, rng):
    """Remove, add or shuffle rows or axes of an array, or change its dtype."""
    name = _array(arrays, rng)
    array = arrays[name]
    match rng.randrange(10):
        case 0:
            del arrays[name]
        case 1:
            arrays[name] = array.reshape(-1)
        case 2:
            arrays[name] = array[..., None]
        case 3:
            arrays[name] = array[:-1] if array.ndim else array
        case 4:
            arrays[name] = np.concatenate([array, array]) if array.ndim else array
        case 5:
            with np.errstate(all="ignore"):
                arrays[name] = array.astype(rng.choice(["f8", "f4", "i8", "i4", "u1", "?"]))
        case 6:
            arrays[name] = np.zeros((0, 1 << 20), array.dtype)
        case 7:
            arrays[name] = np.sort(array.reshape(-1))[:: rng.choice([1, -1])].reshape(array.shape)
        case 8:
            arrays[name] = array.T
        case 9:
            arrays[name] = array[:0] if array.ndim else array


def swap_arrays(text, arrays, rng):
    """Exchange two arrays, or replace one by the other."""
    a, b = _array(arrays, rng), _array(arrays, rng)
    arrays[a], arrays[b] = arrays[b], rng.choice([arrays[a], arrays[b]])


def change_alias(text, arrays, rng):
    """Add an alias of an array, or transpose one."""
    a, b = _array(arrays, rng), _array(arrays, rng)
    match rng.randrange(3):
        case 0:
            text["aliases"][a] = b
            del arrays[a]
            text["aliases"] = {k: v for k, v in text["aliases"].items() if v in arrays}
        case 1:
            text["transposed"].append(a)
        case 2:
            text["transposed"].clear()


def change_texts(text, arrays, rng):
    """Change a list of texts: an odd one, one twice, one less, or another order; the hashes of a vocabulary match."""
    lists = sorted(
        name[: -len("/utf8")] for name in arrays if name.endswith("/utf8") and f"{name[:-5]}/offsets" in arrays
    )
    if not lists:
        return
    name = rng.choice(lists)
    blob, offsets = arrays[f"{name}/utf8"].tobytes(), arrays[f"{name}/offsets"]
    if offsets.dtype.kind != "i":
        return
    texts = [blob[a:b] for a, b in pairwise(offsets.reshape(-1).tolist())]
    _change_items(texts, rng)
    ends = np.concatenate([[0], np.cumsum(list(map(len, texts)))]).astype(np.int64)
    utf8 = np.frombuffer(b"".join(texts), np.uint8)
    if f"{name}/hashes" in arrays:
        hashes = hash_words(utf8, ends)
        order = sorted(range(len(texts)), key=lambda i: (int(hashes[i]), texts[i]))
        texts = [texts[i] for i in order]
        ends = np.concatenate([[0], np.cumsum(list(map(len, texts)))]).astype(np.int64)
        utf8 = np.frombuffer(b"".join(texts), np.uint8)
        arrays[f"{name}/hashes"] = hash_words(utf8, ends).view(np.int64)
    arrays[f"{name}/utf8"], arrays[f"{name}/offsets"] = utf8, ends.astype(offsets.dtype)


def _change_items(texts, rng):
    odd = odd_text(rng).encode("utf-8", SURROGATES)
    if rng.random() < 0.3:
        odd = json.dumps(rng.choice([odd_text(rng), *SCALARS])).encode()  # the classes are in JSON
    at = rng.randrange(len(texts)) if texts else 0
    match rng.randrange(6):
        case 0 | 1:
            texts[at : at + 1] = [odd]
        case 2:
            texts[at : at + 1] = texts[:1]
        case 3:
            rng.shuffle(texts)
        case 4:
            del texts[at : at + 1]
        case 5:
            texts.insert(at, odd)


CHANGES = [
    change_value, change_value, change_number, change_number, change_text, change_list, change_object, transplant,
    change_reading, change_elements, change_elements, change_elements, scale_elements, change_shape, swap_arrays,
    change_alias, change_texts, change_texts,
]  # fmt: skip


# Uses.


def check(raw: bytes) -> None:
    """Load a file and call all methods of the model."""
    warnings.simplefilter("error", RuntimeWarning)
    os.fsync = lambda handle: None
    mapped = hashlib.sha256(raw).digest()[0] % 4 == 0  # as if it were large, and its arrays were read when used
    container.EAGER_CHECK_BYTES = 0 if mapped else 1 << 24
    path = write_input("m.deciban", raw)
    try:
        model = deciban.load(path)
    except DecibanError as error:
        if not isinstance(error, ModelFileError) or "\n" in str(error):
            raise AssertionError(f"load: {type(error).__name__}, or a message of several lines") from error
        raise
    for name, use in _uses(model, path).items():
        begin_operation()
        try:
            use()
        except DecibanError as error:
            if "\n" in str(error):
                raise AssertionError(f"{name}: a message of several lines") from error


def assert_probabilities(p) -> None:
    """Assert finite numbers from 0 to 1, of which each row adds up to 1."""
    p = np.asarray(p, dtype=np.float64)
    assert np.isfinite(p).all(), f"probabilities that are not finite: {p.tolist()[:3]}"
    assert ((p >= 0) & (p <= 1 + 1e-12)).all(), f"probabilities outside of 0 to 1: {p.tolist()[:3]}"
    assert np.allclose(p.sum(axis=1), 1, atol=1e-6), f"probabilities that do not add up to 1: {p.tolist()[:3]}"


def assert_no_nan(values) -> None:
    """Assert that no number is NaN."""
    assert not np.isnan(np.asarray(values, dtype=np.float64)).any(), "NaN among log-probabilities"


def _uses(model, path):
    if isinstance(model, deciban.Model):
        return _uses_of_table(model, path)
    if isinstance(model, deciban.TextClassifier) or _reads_texts(model):
        X, labels = ["tea pot", "", "milk tea zebra", "a b  c d e f g h i j"], np.resize(model.classes_, 4)
    elif model.n_features_in_ > MAX_FEATURES:
        return {}
    else:
        X, labels = _rows(model), np.resize(model.classes_, 3)
    return _uses_of_estimator(model, X, labels, path)


def _reads_texts(model) -> bool:
    return [block.kind for block in model._scorer.outline.blocks] == ["bags"]


def _rows(model):
    d = model.n_features_in_
    rows = np.vstack([np.zeros(d), np.ones(d), np.arange(d) % 3])
    if isinstance(model, deciban.NaiveBayes) and getattr(model, "feature_names_in_", None) is not None:
        frame = clinic.patients(3).to_pandas()
        columns = [name for name in model.feature_names_in_ if name in frame]
        return frame[columns] if len(columns) == d else rows
    return rows


def _uses_of_estimator(model, X, labels, path):
    uses = {
        "predict_proba": lambda: assert_probabilities(model.predict_proba(X)),
        "predict_log_proba": lambda: assert_no_nan(model.predict_log_proba(X)),
        "predict": lambda: model.predict(X),
        "predict with rejection": lambda: model.predict(X, reject_novel=0.1),
        "explain": lambda: str(model.explain(X)),
        "n_parameters_": lambda: model.n_parameters_,
        "repr": lambda: repr(model),
        "save": lambda: _save_again(model, path, lambda m: m.predict_proba(X)),
    }
    named = {
        "score_samples": lambda: assert_no_nan(model.score_samples(X)),
        "telltales": lambda: model.telltales(labels[0]),
        "describe": lambda: str(model.describe()),
        "sample": lambda: model.sample(3, random_state=0),
        "staged_predict_proba": lambda: [assert_probabilities(p) for p in model.staged_predict_proba(X)],
        "decision_function": lambda: model.decision_function(X),
        "with_priors": lambda: assert_probabilities(model.with_priors("uniform").predict_proba(X)),
        "select": lambda: model.select(2).predict(X),
        "decay": lambda: assert_probabilities(copy.copy(model).decay(0.5).predict_proba(X)),
        "merge": lambda: assert_probabilities((model + model).predict_proba(X)),
        "subtract": lambda: assert_probabilities((model - model).predict_proba(X)),
        "forget": lambda: assert_probabilities(model.forget(X, labels).predict_proba(X)),
        "partial_fit": lambda: assert_probabilities(model.partial_fit(X, labels).predict_proba(X)),
    }
    return uses | {name: use for name, use in named.items() if _offers(model, name)}


def _offers(model, name) -> bool:
    method = {"merge": "merge", "subtract": "merge"}.get(name, name)
    try:
        return hasattr(model, method)
    except DecibanError:
        return False


def _uses_of_table(model, path):
    rows = reviews(12) if "text" in model.roles.values() else clinic.patients(12)
    missing = {"allow_missing_columns": True}
    commands = {
        "inspect": lambda: _command("inspect", path),
        "diff": lambda: _command("diff", path, path),
        "merge command": lambda: _command("merge", path, path, "-o", path.with_name("merged.deciban")),
    }
    some = commands if zlib.crc32(path.read_bytes()) % 4 == 0 else {}  # they take most of the time
    return some | {
        "predict_proba": lambda: assert_probabilities(model.predict_proba(rows, **missing)),
        "predict_log_proba": lambda: assert_no_nan(model.predict_log_proba(rows, **missing)),
        "score_samples": lambda: assert_no_nan(model.score_samples(rows, **missing)),
        "predict": lambda: model.predict(rows, **missing),
        "predict with rejection": lambda: model.predict(rows, **missing, reject_novel=0.1),
        "explain": lambda: str(model.explain(rows, **missing)),
        "describe": lambda: str(model.describe()),
        "sample": lambda: model.sample(3, random_state=0),
        "telltales": lambda: model.telltales(model.classes[0]),
        "n_parameters": lambda: model.n_parameters,
        "repr": lambda: repr(model),
        "quality": lambda: str(model.quality),
        "save": lambda: _save_again(model, path, lambda m: m.predict_proba(rows, **missing)),
        "with_priors": lambda: assert_probabilities(model.with_priors("uniform").predict_proba(rows, **missing)),
        "merge": lambda: assert_probabilities((model + model).predict_proba(rows, **missing)),
        "subtract": lambda: assert_probabilities((model - model).predict_proba(rows, **missing)),
        "scale": lambda: assert_probabilities((model * 0.5).predict_proba(rows, **missing)),
        "forget": lambda: assert_probabilities(model.forget(rows).predict_proba(rows, **missing)),
        "add": lambda: assert_probabilities(model.add(rows).predict_proba(rows, **missing)),
    }


def _save_again(model, path, probabilities) -> None:
    """Assert that a model that is saved again and read again predicts the same."""
    again = path.with_name("again.deciban")
    model.save(again)
    read = deciban.load(again)
    with contextlib.suppress(DecibanError):
        assert np.array_equal(np.asarray(probabilities(model)), np.asarray(probabilities(read))), (
            "it predicts otherwise"
        )


def _command(name, *paths) -> None:
    """Run a command, whose errors must be reported in one line and with an exit code."""
    from tests.cli.terminal import call

    done = call(name, *paths)
    text = done.output
    if done.exception is not None:
        raise done.exception
    assert not re.search(r"Traceback|--debug", text), f"deciban {name}: {text[:300]}"
