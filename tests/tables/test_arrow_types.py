"""Columns of every type that pyarrow, pandas, polars and DuckDB hand over are learned, predicted and explained."""

import datetime
import decimal
import uuid

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deciban
from deciban.errors import InputError
from deciban.sources.arrow_cells import to_numbers

N = 60
QUANTITY = [round(20 + 7.3 * (i % 2) + 0.37 * (i * 31 % 23), 2) for i in range(N)]
WHOLE = [(i * i * 31) % 97 for i in range(N)]
WORDS = ["dry", "wet", "snow"] * (N // 3)
FLAGS = [i % 3 == 0 for i in range(N)]
DAYS = [datetime.date(2024, 1, 1) + datetime.timedelta(days=7 * i + i % 3) for i in range(N)]
MOMENTS = [datetime.datetime(2024, 1, 1, i % 24) + datetime.timedelta(days=5 * i) for i in range(N)]
TIMES = [datetime.time(i % 24, 30) for i in range(N)]
ISO = [f"2024-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(N)]
NUMBERS = ("number", "binned", "count")


def missing(values):
    """Some of the values are missing."""
    return [None if i % 11 == 3 else value for i, value in enumerate(values)]


def dictionary(values, index="int32", kind=None):
    encoded = pa.array(missing(values), kind).dictionary_encode()
    return pa.DictionaryArray.from_arrays(encoded.indices.cast(index), encoded.dictionary)


def decimals(kind):
    return pa.array([None if v is None else decimal.Decimal(str(v)) for v in missing(QUANTITY)], kind)


def run_ends(values):
    return pa.RunEndEncodedArray.from_arrays(pa.array(range(2, N + 2, 2), pa.int32()), values[: N // 2])


def stored(kind, values):
    return pa.ExtensionArray.from_storage(kind, pa.array(values, kind.storage_type))


ARROW = {
    "string": (pa.array(missing(WORDS)), ["category"]),
    "large_string": (pa.array(missing(WORDS), pa.large_string()), ["category"]),
    "string_view": (pa.array(missing(WORDS), pa.string_view()), ["category"]),
    "string_view of dates": (pa.array(missing(ISO), pa.string_view()), ["date"]),
    "string of dates": (pa.array(missing(ISO)), ["date"]),
    "string_view of texts": (pa.array([f"the {w} road to {w} hills is long, {i}" for i, w in enumerate(WORDS)],
                                      pa.string_view()), ["text"]),
    "bool": (pa.array(missing(FLAGS)), ["flag"]),
    "bool8": (stored(pa.bool8(), missing(map(int, FLAGS))), ["flag"]),
    **{f"{kind}": (pa.array(missing(WHOLE), kind), NUMBERS) for kind in
       (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32())},
    "uint64": (pa.array([2**64 - 1 - v for v in WHOLE], pa.uint64()), [*NUMBERS, "skip"]),
    "float16": (pa.array(np.array(QUANTITY, dtype=np.float16)), NUMBERS),
    "float32": (pa.array(missing(QUANTITY), pa.float32()), NUMBERS),
    "float64 with NaN": (pa.array([np.nan if v is None else v for v in missing(QUANTITY)]), NUMBERS),
    **{str(kind): (decimals(kind), NUMBERS) for kind in
       (pa.decimal32(6, 2), pa.decimal64(12, 2), pa.decimal128(20, 2), pa.decimal256(50, 2))},
    "date32": (pa.array(missing(DAYS), pa.date32()), ["date"]),
    "date64": (pa.array(missing(DAYS), pa.date64()), ["date"]),
    **{f"timestamp {unit} {zone}": (pa.array(missing(MOMENTS), pa.timestamp(unit, zone)), ["date"])
       for unit in ("s", "ms", "us", "ns") for zone in (None, "UTC", "Europe/Berlin", "+05:30")},
    **{str(kind): (pa.array(missing(TIMES), kind), ["date"]) for kind in
       (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"))},
    **{f"duration {unit}": (pa.array(missing(WHOLE), pa.duration(unit)), NUMBERS)
       for unit in ("s", "ms", "us", "ns")},
    "null": (pa.nulls(N), ["skip"]),
    **{f"dictionary of {index}": (dictionary(WORDS, index), ["category"]) for index in
       (pa.int8(), pa.int16(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())},
    **{f"dictionary of {kind}": (dictionary(values, kind=kind), ["category"]) for kind, values in
       ((pa.large_string(), WORDS), (pa.string_view(), WORDS), (pa.int32(), [1, 2, 3] * (N // 3)),
        (pa.float64(), [1.5, 2.5, 3.0] * (N // 3)), (pa.date32(), DAYS[:3] * (N // 3)))},
    "dictionary of bool": (dictionary(FLAGS), ["flag"]),
    "run-end encoded": (run_ends(pa.array(WORDS)), ["category"]),
    "run-end encoded, sliced": (pa.concat_arrays([run_ends(pa.array(WORDS))] * 2).slice(3, N), ["category"]),
    "run-end encoded views": (run_ends(pa.array(WORDS, pa.string_view())), ["category"]),
    "run-end encoded numbers": (run_ends(pa.array(QUANTITY)), NUMBERS),
    "json": (stored(pa.json_(), [f'{{"a": {i % 3}}}' for i in range(N)]), ["category"]),
    "uuid": (stored(pa.uuid(), [uuid.UUID(int=i * 7919 % N).bytes for i in range(N)]), ["skip"]),
    "binary": (pa.array([w.encode() for w in WORDS]), ["skip"]),
    "large_binary": (pa.array([w.encode() for w in WORDS], pa.large_binary()), ["skip"]),
    "binary_view": (pa.array([w.encode() for w in WORDS], pa.binary_view()), ["skip"]),
    "fixed-size binary": (pa.array([b"%04d" % (i % 7) for i in range(N)], pa.binary(4)), ["skip"]),
    "interval": (pa.array([(1, 2, i % 5) for i in range(N)], pa.month_day_nano_interval()), ["skip"]),
    "list": (pa.array([[i] for i in range(N)]), ["skip"]),
    "large_list": (pa.array([[i] for i in range(N)], pa.large_list(pa.int64())), ["skip"]),
    "fixed-size list": (pa.array([[i, i] for i in range(N)], pa.list_(pa.int64(), 2)), ["skip"]),
    "list_view": (pa.array([[i] for i in range(N)], pa.list_view(pa.int64())), ["skip"]),
    "struct": (pa.array([{"a": i} for i in range(N)]), ["skip"]),
    "map": (pa.array([[("a", i)] for i in range(N)], pa.map_(pa.string(), pa.int64())), ["skip"]),
    "tensor": (stored(pa.fixed_shape_tensor(pa.int64(), [2]), [[i, i] for i in range(N)]), ["skip"]),
}  # fmt: skip

PANDAS = {
    "category of texts": (pd.Series(missing(WORDS), dtype="category"), ["category"]),
    "category of whole numbers": (pd.Series([1, 2, 3] * (N // 3)).astype("category"), ["category"]),
    "category of intervals": (pd.cut(pd.Series(QUANTITY), 4), ["category"]),
    "Int64": (pd.Series(missing(WHOLE), dtype="Int64"), NUMBERS),
    "UInt8": (pd.Series(missing(WHOLE), dtype="UInt8"), NUMBERS),
    "Float64": (pd.Series(missing(QUANTITY), dtype="Float64"), NUMBERS),
    "boolean": (pd.Series(missing(FLAGS), dtype="boolean"), ["flag"]),
    "string": (pd.Series(missing(WORDS), dtype="string"), ["category"]),
    "string of dates": (pd.Series(missing(ISO), dtype="string"), ["date"]),
    "str objects": (pd.Series(missing(WORDS), dtype=object), ["category"]),
    **{f"ArrowDtype {kind}": (pd.Series(pd.array(missing(values), dtype=pd.ArrowDtype(kind))), role)
       for kind, values, role in ((pa.string_view(), WORDS, ["category"]), (pa.int16(), WHOLE, NUMBERS),
                                  (pa.date32(), DAYS, ["date"]), (pa.bool_(), FLAGS, ["flag"]))},
    "datetime64": (pd.Series(pd.to_datetime(missing(MOMENTS))), ["date"]),
    "datetime64 with zone": (pd.Series(pd.to_datetime(MOMENTS)).dt.tz_localize("Europe/Berlin"), ["date"]),
    "timedelta64": (pd.Series(pd.to_timedelta(WHOLE, unit="min")), NUMBERS),
    "Period": (pd.Series(pd.period_range("2019-01", periods=N, freq="M")), ["date"]),
    "Interval": (pd.Series(pd.arrays.IntervalArray.from_breaks([*range(N // 3 + 1)])).repeat(3), ["category"]),
    "sparse": (pd.Series(pd.arrays.SparseArray(np.array(WHOLE, dtype=float))), NUMBERS),
    "date objects": (pd.Series(missing(DAYS), dtype=object), ["date"]),
    "time objects": (pd.Series(missing(TIMES), dtype=object), ["date"]),
    "Decimal objects": (pd.Series([decimal.Decimal(str(v)) for v in QUANTITY], dtype=object), NUMBERS),
    "texts and bytes": (pd.Series(["a", b"b"] * (N // 2), dtype=object), ["skip"]),
    "set objects": (pd.Series([{i} for i in range(N)], dtype=object), ["skip"]),
    "bytes objects": (pd.Series([w.encode() for w in WORDS], dtype=object), ["skip"]),
    "list objects": (pd.Series([[i] for i in range(N)], dtype=object), ["skip"]),
    "uuid objects": (pd.Series([uuid.UUID(int=i * 7919 % N) for i in range(N)], dtype=object), ["skip"]),
}  # fmt: skip

POLARS = {
    "String": (pl.Series(missing(WORDS)), ["category"]),
    "String of dates": (pl.Series(missing(ISO)), ["date"]),
    "Categorical": (pl.Series(missing(WORDS), dtype=pl.Categorical), ["category"]),
    "Enum": (pl.Series(missing(WORDS), dtype=pl.Enum(["dry", "wet", "snow"])), ["category"]),
    "Boolean": (pl.Series(missing(FLAGS)), ["flag"]),
    "Int8": (pl.Series(missing(WHOLE), dtype=pl.Int8), NUMBERS),
    "Int128": (pl.Series(missing(WHOLE), dtype=pl.Int128), NUMBERS),
    "UInt64": (pl.Series(missing(WHOLE), dtype=pl.UInt64), NUMBERS),
    "Float32": (pl.Series(missing(QUANTITY), dtype=pl.Float32), NUMBERS),
    "Decimal": (pl.Series([decimal.Decimal(str(v)) for v in QUANTITY]), NUMBERS),
    "Date": (pl.Series(missing(DAYS)), ["date"]),
    "Datetime": (pl.Series(missing(MOMENTS)), ["date"]),
    "Datetime with zone": (pl.Series(MOMENTS).dt.replace_time_zone("Asia/Tokyo"), ["date"]),
    "Time": (pl.Series(missing(TIMES)), ["date"]),
    "Duration": (pl.Series([datetime.timedelta(minutes=v) for v in WHOLE]), NUMBERS),
    "Null": (pl.Series([None] * N), ["skip"]),
    "Binary": (pl.Series([w.encode() for w in WORDS]), ["skip"]),
    "List": (pl.Series([[i] for i in range(N)]), ["skip"]),
    "Array": (pl.Series([[i, i] for i in range(N)], dtype=pl.Array(pl.Int64, 2)), ["skip"]),
    "Struct": (pl.Series([{"a": i} for i in range(N)]), ["skip"]),
}

DUCKDB = {
    "HUGEINT": ("(i * i * 31 % 97)::HUGEINT", NUMBERS),
    "UHUGEINT": ("(i * i * 31 % 97)::UHUGEINT", NUMBERS),
    "DECIMAL": ("((i * 31 % 23) / 7)::DECIMAL(18, 3)", NUMBERS),
    "FLOAT": ("((i * 31 % 23) / 7)::FLOAT", NUMBERS),
    "BOOLEAN": ("i % 3 = 0", ["flag"]),
    "VARCHAR": ("['dry', 'wet', 'snow'][1 + i % 3]", ["category"]),
    "ENUM": ("['dry', 'wet', 'snow'][1 + i % 3]::ENUM('dry', 'wet', 'snow')", ["category"]),
    "DATE": ("date '2024-01-01' + (7 * i + i % 3)::int", ["date"]),
    "VARCHAR of dates": ("(date '2024-01-01' + (7 * i + i % 3)::int)::varchar", ["date"]),
    "TIMESTAMP": ("timestamp '2024-01-01' + to_hours(i * 31)", ["date"]),
    "TIMESTAMP_S": ("(timestamp '2024-01-01' + to_hours(i * 31))::TIMESTAMP_S", ["date"]),
    "TIMESTAMP_NS": ("(timestamp '2024-01-01' + to_hours(i * 31))::TIMESTAMP_NS", ["date"]),
    "TIME": ("make_time(i % 24, 30, 0)", ["date"]),
    "INTERVAL": ("to_hours(i)", ["skip"]),
    "UUID": ("md5(i::varchar)::UUID", ["skip"]),
    "BLOB": ("encode(['dry', 'wet', 'snow'][1 + i % 3])", ["skip"]),
    "BIT": ("(i % 7)::BIT", ["skip", "category"]),
    "LIST": ("[i]", ["skip"]),
    "STRUCT": ("{'a': i}", ["skip"]),
    "MAP": ("map {'a': i}", ["skip"]),
    "UNION": ("union_value(a := i)", ["skip"]),
    "JSON": ("('{\"a\": ' || i % 3 || '}')::JSON", ["category"]),
    "NULL": ("null", ["skip"]),
}

OTHERS = {"x": [0.1 * (i * 7 % 13) for i in range(N)], "y": ["p", "q"] * (N // 2)}


def sources():
    return list(each_source())


def each_source():
    for name, (column, roles) in ARROW.items():
        yield pytest.param(lambda column=column: pa.table({"c": column, **OTHERS}), roles, id=f"arrow {name}")
    for name, (column, roles) in PANDAS.items():
        made = lambda column=column: pd.DataFrame({"c": column.reset_index(drop=True), **OTHERS})  # noqa: E731
        yield pytest.param(made, roles, id=f"pandas {name}")
    for name, (column, roles) in POLARS.items():
        yield pytest.param(lambda column=column: pl.DataFrame({"c": column, **OTHERS}), roles, id=f"polars {name}")
    for name, (column, roles) in DUCKDB.items():
        query = f"select {column} as c, 0.1 * (i * 7 % 13) as x, ['p', 'q'][1 + i % 2] as y from range({N}) t(i)"
        yield pytest.param(lambda query=query: duckdb.connect().sql(query), roles, id=f"duckdb {name}")


@pytest.mark.parametrize(("make", "roles"), sources())
def test_every_type_is_learned_predicted_evaluated_and_explained(make, roles):
    model = deciban.train(make(), target="y", numbers="auto")
    column = next(column for column in model.columns if column.name == "c")
    assert column.role in roles, column
    assert column.role != "skip" or column.reason
    answers = model.predict(make())
    assert (answers.read_all().num_rows if hasattr(answers, "read_all") else len(answers)) == N
    assert deciban.evaluate(make(), model=model).rows == N
    assert deciban.evaluate(make(), target="y", folds=3).rows == N
    explained = {feature.partition(".")[0] for feature in model.explain(make(), rows=2).features}
    assert ("c" in explained) == (column.role != "skip")


@pytest.mark.parametrize("role", ["number", "count", "category", "date", "text"])
@pytest.mark.parametrize(("make", "roles"), sources())
def test_every_type_is_read_in_every_role_or_refused_by_the_name_of_its_column(make, roles, role):
    try:
        model = deciban.train(make(), target="y", roles={"c": role}, judge=False)
        model.predict(make())
        message = "'c'"
    except InputError as error:
        message = str(error)
    assert "'c'" in message
    assert "\n" not in message


@pytest.mark.parametrize(
    "name", ["string_view", "dictionary of uint8", "dictionary of int32", "bool8", "run-end encoded", "json"]
)
def test_the_target_may_have_any_type_that_names_classes(name):
    table = pa.table({"c": ARROW[name][0], **OTHERS})
    model = deciban.train(table, target="c", judge=False)
    assert len(model.predict(table)) == N
    assert deciban.evaluate(table, model=model).rows == N - ARROW[name][0].to_pylist().count(None)


NESTED = ["list", "list_view", "struct", "map", "interval"]


@pytest.mark.parametrize("name", NESTED)
def test_nested_values_in_a_column_of_the_model_are_refused_by_name_and_type(name):
    column = ARROW[name][0]
    for good in (QUANTITY, WORDS, ISO):
        model = deciban.train({"c": good, **OTHERS}, target="y", judge=False)
        for use in (model.predict, model.explain, lambda rows, m=model: deciban.evaluate(rows, model=m)):
            with pytest.raises(InputError, match=r"column 'c' .*(list|struct|map|interval)"):
                use(pa.table({"c": column, **OTHERS}))


@pytest.mark.parametrize(
    "kind", [pa.struct([("a", pa.string_view())]), pa.list_(pa.string_view()), pa.list_view(pa.int64())]
)
def test_nested_values_are_left_out_also_where_labels_are_missing(kind):
    cells = pa.array([None if i % 3 else ({"a": "x"} if pa.types.is_struct(kind) else []) for i in range(N)], kind)
    table = pa.table({"c": cells, **OTHERS, "y": [None, *OTHERS["y"][1:]]})
    roles = {column.name: column.role for column in deciban.train(table, target="y", judge=False).columns}
    assert roles["c"] == "skip"
    assert roles["x"] != "skip"


@pytest.mark.parametrize("other", [2, 1.5])
@pytest.mark.parametrize("wide", [2**63, -(2**63) - 1, 10**400])
def test_whole_numbers_beyond_64_bits_are_refused_by_name(wide, other):
    table = {"c": np.array([wide, other] * (N // 2), dtype=object), **OTHERS}
    for use in (
        lambda: deciban.train(table, target="y"),
        lambda: deciban.train(pd.DataFrame(table), target="y"),
        lambda: deciban.NaiveBayes().fit(np.array([[wide, 1], [other, 3]], dtype=object), [0, 1]),
    ):
        with pytest.raises(InputError, match=r"column '(c|x0)' holds a whole number outside −2⁶³ to 2⁶³ − 1"):
            use()


@pytest.mark.parametrize("name", NESTED)
def test_a_target_of_nested_values_is_refused_by_name_and_type(name):
    with pytest.raises(InputError, match=r"column 'c' .*(list|struct|map|interval)"):
        deciban.train(pa.table({"c": ARROW[name][0], **OTHERS}), target="c")
    model = deciban.train({"c": WORDS, **OTHERS}, target="c", judge=False)
    with pytest.raises(InputError, match=r"column 'c' .*(list|struct|map|interval)"):
        deciban.evaluate(pa.table({"c": ARROW[name][0], **OTHERS}), model=model)


@pytest.mark.parametrize(
    "values",
    [[1, "a"], [1, datetime.date(2024, 1, 1)], ["a", datetime.date(2024, 1, 1)], [object()] * 2, [1 + 2j, 3j]],
    ids=["number, text", "number, date", "text, date", "objects", "complex"],
)
def test_columns_of_mixed_python_values_are_refused_by_name_with_a_way_out(values):
    frame = pd.DataFrame({"c": pd.Series(values * (N // 2), dtype=object), **OTHERS})
    for use in (
        lambda: deciban.train(frame, target="y"),
        lambda: deciban.train({"x": OTHERS["x"], "y": OTHERS["y"]}, target="y", judge=False).predict(frame),
    ):
        with pytest.raises(InputError, match=r"column 'c' .*astype\(str\)"):
            use()


@pytest.mark.parametrize(
    "name", ["string_view", "string_view of dates", "decimal64(12, 2)", "dictionary of large_string"]
)
def test_files_keep_the_values_of_rare_types(name, tmp_path):
    table = pa.table({"c": ARROW[name][0], **OTHERS})
    expected = deciban.train(table, target="y").ledger
    with pa.ipc.new_file(str(tmp_path / "t.arrow"), table.schema) as writer:
        writer.write_table(table, max_chunksize=17)
    assert deciban.train(tmp_path / "t.arrow", target="y").ledger == expected
    assert deciban.train(table.to_reader(17), target="y").ledger == expected
    pq.write_table(table, tmp_path / "t.parquet")
    assert deciban.train(tmp_path / "t.parquet", target="y").ledger == expected


@pytest.mark.parametrize(
    "kind", [pa.time32("s"), pa.time64("us"), pa.date32(), pa.date64(), pa.timestamp("s")], ids=str
)
def test_dates_and_times_of_every_width_are_numbers(kind):
    ticks = pa.array([86_400_000, None], pa.int64()) if kind == pa.date64() else pa.array([7, None], pa.int64())
    cells = (ticks.cast(pa.int32()) if kind.bit_width == 32 else ticks).cast(kind)
    np.testing.assert_array_equal(to_numbers(cells, "c"), [ticks[0].as_py(), np.nan])


def test_objects_in_a_polars_frame_are_refused_by_name():
    frame = pl.DataFrame({"c": pl.Series([object()] * N, dtype=pl.Object), **OTHERS})
    with pytest.raises(InputError, match="column 'c' holds objects of Python"):
        deciban.train(frame, target="y")


def test_an_estimator_takes_views_of_strings():
    frame = pl.DataFrame({"c": missing(WORDS), "day": ISO, "x": OTHERS["x"]})
    model = deciban.NaiveBayes().fit(frame, OTHERS["y"])
    assert model.roles_ == {"c": "category", "day": "date", "x": model.roles_["x"]}
    assert len(model.predict(frame)) == N
