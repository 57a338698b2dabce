"""Triton kernels that count labels and sort rows by class, in blocks of rows.

Importing this module imports Triton. Letters and names are those of `gpu.kernels`.
"""

import triton
import triton.language as tl


@triton.jit
def count_labels(y_ptr, out_ptr, n, ROWS: tl.constexpr, TILES: tl.constexpr):
    """Write the number of rows of each label 0, 1, …, 15 in a block of at most 255 tiles: blocks × 16.

    Every place of a tile counts its labels in the bytes of two numbers.
    """
    block = tl.program_id(0).to(tl.int64)
    low = tl.zeros([ROWS], tl.int64)
    high = tl.zeros([ROWS], tl.int64)
    for i in range(TILES):
        rows = (block * TILES + i) * ROWS + tl.arange(0, ROWS)
        label = tl.load(y_ptr + rows, mask=rows < n, other=127).to(tl.int64)
        one = tl.full([ROWS], 1, tl.int64) << ((label & 7) * 8)
        low += tl.where((label >= 0) & (label < 8), one, 0)
        high += tl.where((label >= 8) & (label < 16), one, 0)
    for b in range(8):
        tl.store(out_ptr + block * 16 + b, tl.sum((low >> (8 * b)) & 255, axis=0).to(tl.int32))
        tl.store(out_ptr + block * 16 + 8 + b, tl.sum((high >> (8 * b)) & 255, axis=0).to(tl.int32))


@triton.jit
def pack_class(code, w):
    """Return one in the field of a class, 12 bits each, if it is among the five of word w; else zero."""
    one = tl.full(code.shape, 1, tl.int64) << ((code - 5 * (code // 5)) * 12).to(tl.int64)
    return tl.where((code >= 0) & (code // 5 == w), one, 0)


@triton.jit
def unpack_rank(before, own, code):
    """Return the field of a class in the rows before, if this word has its class; else zero."""
    rank = (before >> ((code - 5 * (code // 5)) * 12).to(tl.int64)) & 4095
    return tl.where(own != 0, rank, 0).to(tl.int32)


@triton.jit
def store_row(out_ptr, base, code, rank, row):
    """Write the number of a row at its place among the rows of its class."""
    place = tl.gather(base, tl.maximum(code, 0), 0) + rank
    tl.store(out_ptr + place, row.to(tl.int32), mask=code >= 0)


@triton.jit
def order_rows(
    code_ptr, count_ptr, offset_ptr, out_ptr, n, LANES: tl.constexpr, TILES: tl.constexpr, WORDS: tl.constexpr
):
    """Write the numbers of a block's rows in the order of their classes, at most 16, and where each class begins.

    A tile has eight rows for each lane, which counts its own; one cumulative sum over the lanes makes ranks of the
    counts. Five classes are summed at once, in the fields of a number, 12 bits each: a tile has at most 4095 rows.
    Scans of all rows of a tile took 1.0 ms for 10⁸ rows. `count_ptr` is what `count_labels` wrote, offsets are
    blocks × 17.
    """
    block = tl.program_id(0).to(tl.int64)
    first = block * (LANES * 8 * TILES)
    k = tl.arange(0, 16)
    count = tl.load(count_ptr + block * 16 + k)
    base = tl.cumsum(count, 0) - count
    tl.store(offset_ptr + block * 17 + k, first + base)
    tl.store(offset_ptr + block * 17 + 16, first + tl.sum(count, 0))
    out = out_ptr + first
    for i in range(tl.minimum(TILES, tl.cdiv(n - first, LANES * 8)).to(tl.int32)):
        row = first + i * (LANES * 8) + tl.arange(0, LANES)
        c0 = tl.load(code_ptr + row, mask=row < n, other=-1).to(tl.int32)
        c1 = tl.load(code_ptr + row + LANES, mask=row + LANES < n, other=-1).to(tl.int32)
        c2 = tl.load(code_ptr + row + 2 * LANES, mask=row + 2 * LANES < n, other=-1).to(tl.int32)
        c3 = tl.load(code_ptr + row + 3 * LANES, mask=row + 3 * LANES < n, other=-1).to(tl.int32)
        c4 = tl.load(code_ptr + row + 4 * LANES, mask=row + 4 * LANES < n, other=-1).to(tl.int32)
        c5 = tl.load(code_ptr + row + 5 * LANES, mask=row + 5 * LANES < n, other=-1).to(tl.int32)
        c6 = tl.load(code_ptr + row + 6 * LANES, mask=row + 6 * LANES < n, other=-1).to(tl.int32)
        c7 = tl.load(code_ptr + row + 7 * LANES, mask=row + 7 * LANES < n, other=-1).to(tl.int32)
        zero = tl.zeros([LANES], tl.int32)
        r0, r1, r2, r3, r4, r5, r6, r7 = zero, zero, zero, zero, zero, zero, zero, zero
        rise = tl.zeros([16], tl.int32)
        for w in tl.static_range(WORDS):
            o0, o1, o2, o3 = pack_class(c0, w), pack_class(c1, w), pack_class(c2, w), pack_class(c3, w)
            o4, o5, o6, o7 = pack_class(c4, w), pack_class(c5, w), pack_class(c6, w), pack_class(c7, w)
            own = o0 + o1 + o2 + o3 + o4 + o5 + o6 + o7
            before = tl.cumsum(own, 0) - own
            r0 += unpack_rank(before, o0, c0)
            before += o0
            r1 += unpack_rank(before, o1, c1)
            before += o1
            r2 += unpack_rank(before, o2, c2)
            before += o2
            r3 += unpack_rank(before, o3, c3)
            before += o3
            r4 += unpack_rank(before, o4, c4)
            before += o4
            r5 += unpack_rank(before, o5, c5)
            before += o5
            r6 += unpack_rank(before, o6, c6)
            before += o6
            r7 += unpack_rank(before, o7, c7)
            total = tl.sum(own, 0) >> ((k % 5) * 12).to(tl.int64)
            rise += tl.where(k // 5 == w, total & 4095, 0).to(tl.int32)
        store_row(out, base, c0, r0, row)
        store_row(out, base, c1, r1, row + LANES)
        store_row(out, base, c2, r2, row + 2 * LANES)
        store_row(out, base, c3, r3, row + 3 * LANES)
        store_row(out, base, c4, r4, row + 4 * LANES)
        store_row(out, base, c5, r5, row + 5 * LANES)
        store_row(out, base, c6, r6, row + 6 * LANES)
        store_row(out, base, c7, r7, row + 7 * LANES)
        base += rise


@triton.jit
def load_segment(offset_ptr, block, n_blocks, k, width):
    """Return where the rows of class k in a block begin and end in the order; nothing beyond the last block."""
    at = offset_ptr + block.to(tl.int64) * (width + 1) + k
    return tl.load(at, mask=block < n_blocks, other=0), tl.load(at + 1, mask=block < n_blocks, other=0)


@triton.jit
def locate_cells(rows, columns, row_stride, column_stride, IS_WIDE: tl.constexpr):
    """Return the offsets of a tile's cells; with IS_WIDE in 64 bits, where 32 do not hold a column's offset."""
    if IS_WIDE:
        rows, columns = rows.to(tl.int64), columns.to(tl.int64)
    return rows[:, None] * row_stride + columns[None, :] * column_stride
