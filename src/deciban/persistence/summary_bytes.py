"""Summaries of parts of a table as bytes, in the container of model files, to be sent between machines."""

import numpy as np
import pyarrow as pa

from deciban.model.columns import Layout
from deciban.model.row_samples import RowSample
from deciban.model.table_summaries import TableSummary
from deciban.persistence.container import read_bytes, write_bytes
from deciban.persistence.ledgers import read_ledger, write_ledger
from deciban.persistence.section import Section
from deciban.persistence.table_models import read_origin, write_origin

MAX_FOLDS = 1 << 20
"""The greatest number of folds that is read."""


def dump_summary(summary: TableSummary) -> bytes:
    """Return a summary as the bytes of a file."""
    section = Section({"kind": "summary", "n_folds": summary.n_folds, "n_learned": summary.n_learned})
    section.add("origin", write_origin(summary.counted, summary.layout))
    if summary.ledger is not None:
        section.add("ledger", write_ledger(summary.ledger, verify=False))
    section.add("sample", _write_sample(summary.sample))
    return write_bytes(section.header, section.arrays)


def load_summary(layout: Layout, content: bytes) -> TableSummary:
    """Return the summary that `dump_summary` has written, of rows of this layout."""
    section = read_bytes(content, "summary").section()
    ledger = read_ledger(section.part("ledger"), eager=False) if section.has("ledger") else None
    counts = section.integer("n_folds", 1, MAX_FOLDS), section.integer("n_learned")
    return TableSummary(layout, ledger, *counts, read_origin(section.part("origin"), layout), _read_sample(section))


def _write_sample(sample: RowSample) -> Section:
    """Write keys and limit, which have 64 bits, as signed whole numbers, and the rows as an Arrow stream."""
    limit = np.array([sample.limit], dtype=np.uint64).view(np.int64)
    section = Section().put("keys", sample.keys.view(np.int64)).put("limit", limit)
    if sample.table is None:
        return section
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, sample.table.schema) as writer:
        writer.write_table(sample.table)
    return section.put("rows", np.frombuffer(sink.getvalue(), dtype=np.uint8))


def _read_sample(outer: Section) -> RowSample:
    section = outer.part("sample")
    keys = section.array("keys", np.int64, (None,)).view(np.uint64)
    limit = int(section.array("limit", np.int64, (1,)).view(np.uint64)[0])
    if not section.has("rows"):
        return RowSample(keys, None, limit)
    rows = section.array("rows", np.uint8, (None,))
    table = pa.ipc.open_stream(pa.py_buffer(rows)).read_all()
    if table.num_rows != len(keys):
        section.refuse(f"there are {len(keys)} keys for {table.num_rows} rows")
    return RowSample(keys, table, limit)
