"""Rows that are streamed to a device give the model of all rows."""

import numpy as np
import pytest

import deciban
from deciban.errors import InputError
from deciban.gpu import streaming

torch = pytest.importorskip("torch", reason="torch is not installed: make test-gpu")


def draw(n=1003, dtype=np.float32):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    return (rng.normal(size=(n, 5)) + y[:, None]).astype(dtype), y


@pytest.mark.parametrize("batch_rows", [1, 100, 5000, None])
@pytest.mark.interpreted(None)
def test_batches_give_the_model_of_all_rows(batch_rows, device):
    X, y = draw(103 if batch_rows == 1 else 1003, np.float64)
    model = deciban.GaussianNB()
    for rows, labels in streaming.stream_arrays(X, y, device=device, batch_rows=batch_rows):
        assert rows.device.type == device
        model.partial_fit(rows, labels, classes=[0, 1, 2])
    np.testing.assert_allclose(model.var_, deciban.GaussianNB().fit(X, y).var_, rtol=1e-11)


def test_batches_hold_the_rows_in_their_order(device):
    X, y = draw()
    parts = [(rows.cpu().numpy().copy(), labels.cpu().numpy().copy()) for rows, labels in streaming.stream_arrays(
        X, y, device=device, batch_rows=64)]  # fmt: skip
    assert (np.concatenate([rows for rows, _ in parts]) == X).all()
    assert (np.concatenate([labels for _, labels in parts]) == y).all()


def test_rows_in_pinned_memory_are_read_from_where_they_are(device):
    if device == "cpu":
        pytest.skip("no GPU")
    X, y = draw()
    pinned = torch.empty(X.shape, pin_memory=True).numpy()
    pinned[:] = X
    assert streaming._is_pinned(pinned)
    assert not streaming._is_pinned(pinned[:, 1:])
    parts = [rows.cpu().numpy() for rows, _ in streaming.stream_arrays(pinned, y, device=device, batch_rows=64)]
    assert (np.concatenate(parts) == X).all()


def test_a_stream_may_be_left_early(device):
    X, y = draw()
    rows, _ = next(streaming.stream_arrays(X, y, device=device, batch_rows=64))
    assert (rows.cpu().numpy() == X[:64]).all()


def test_memory_maps_and_texts(device, tmp_path):
    X, y = draw()
    np.save(tmp_path / "X.npy", X)
    names = np.array(["a", "b", "c"])[y]
    model = deciban.GaussianNB()
    for rows, labels in streaming.stream_arrays(np.load(tmp_path / "X.npy", mmap_mode="r"), names, device=device):
        model.partial_fit(rows, labels, classes=["a", "b", "c"])
    np.testing.assert_allclose(model.theta_, deciban.GaussianNB().fit(X, names).theta_, rtol=1e-5, atol=1e-6)


def test_parquet_files(device, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    import pyarrow as pa

    X, y = draw()
    columns = {f"x{j}": pa.array(X[:, j]) for j in range(5)}
    columns["x1"] = pa.array([None, *X[1:, 1]], pa.float32())
    pq.write_table(pa.table({**columns, "label": y}), tmp_path / "rows.parquet", row_group_size=300)
    model = deciban.GaussianNB()
    for rows, labels in streaming.stream_parquet(tmp_path / "rows.parquet", "label", device=device, batch_rows=256):
        assert rows.dtype == torch.float32
        model.partial_fit(rows, labels, classes=[0, 1, 2])
    X[0, 1] = np.nan
    np.testing.assert_allclose(model.var_, deciban.GaussianNB().fit(X, y).var_, rtol=1e-5)


def test_what_cannot_be_streamed_is_refused(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, y = draw()
    with pytest.raises(InputError, match="label for each row"):
        streaming.stream_arrays(X, y[1:])
    with pytest.raises(InputError, match="batch_rows=0"):
        streaming.stream_arrays(X, y, batch_rows=0)
    with pytest.raises(InputError, match=r"type object.*astype"):
        streaming.stream_arrays(X.astype(object), y)
    with pytest.raises(InputError, match=r"type (float128|longdouble).*astype"):
        streaming.stream_arrays(X.astype(np.longdouble), y)
    with pytest.raises(InputError, match=r"X is on meta; rows in host memory are streamed.*partial_fit"):
        streaming.stream_arrays(torch.as_tensor(X).to("meta"), y)
    for device in ("gpu", "mps", "meta"):
        with pytest.raises(InputError, match=rf"device='{device}' must be a GPU.*'cuda:1', or 'cpu'"):
            next(streaming.stream_arrays(X, y, device=device))
    pq.write_table(pa.table({"name": ["a"], "label": [1]}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"no column 'target'.*name, label"):
        streaming.stream_parquet(tmp_path / "t.parquet", "target")
    with pytest.raises(InputError, match=r"'name'.*string"):
        streaming.stream_parquet(tmp_path / "t.parquet", "label")


ARRAYS = {
    "backwards": lambda X, y: (X[::-1], y[::-1]),
    "a last batch of one row": lambda X, y: (X[64::-1], y[64::-1]),
    "every second": lambda X, y: (X[::2, ::-1], y[::2]),
    "big-endian": lambda X, y: (X.astype(">f4"), y.astype(">i8")),
    "lists": lambda X, y: (X.astype(np.float64).tolist(), y.tolist()),
    "tensors in host memory": lambda X, y: (torch.as_tensor(X), torch.as_tensor(y)),
    "long labels": lambda X, y: (X, y.astype(np.longdouble)),
    "unsigned labels": lambda X, y: (X, y.astype(np.uint16)),
    "a field of records": lambda X, y: (np.rec.fromarrays([X[:, 0], y.astype("i1")], names="x,y").x[:, None], y),
}


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.interpreted(None)
def test_arrays_of_any_kind_are_streamed(name, device):
    X, y = draw()
    X, y = ARRAYS[name](X, y)
    parts = [(rows.cpu().numpy().copy(), np.array(labels.tolist()))
             for rows, labels in streaming.stream_arrays(X, y, device=device, batch_rows=64)]  # fmt: skip
    assert (np.concatenate([rows for rows, _ in parts]) == np.asarray(X)).all()
    assert (np.concatenate([labels for _, labels in parts]) == np.asarray(y)).all()


def test_a_missing_driver_is_named(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match=r"no GPU with a driver.*nvidia-smi.*device='cpu'"):
        next(streaming.stream_arrays(*draw()))


def test_an_error_of_the_source_reaches_the_caller(device):
    def fail():
        yield streaming.HostBatch(*draw(10))
        raise OSError("the file ends early")

    batches = streaming._copy_ahead(fail(), (10, 5), np.dtype(np.float32), device)
    next(batches)
    with pytest.raises(OSError, match="ends early"):
        list(batches)
