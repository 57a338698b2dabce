"""Triton kernels: sums by class.

A program reads tiles of rows, one after the other, and writes one result for all of them; the results of programs are
added in their order, so the same rows give the same bits. Moments are sums of the rows in their own order, by
products with the indicators of the classes, in the matrix units: a number is split into two or three of type
bfloat16, whose products with 0 and 1 are exact. Counts are sums of rows in the order of `order_kernels.order_rows`:
blocks of rows, each sorted by class. A program reads the rows of one class in some blocks, and programs of the same
blocks run side by side, so that what one reads of the memory is in the cache for the others.

Importing this module imports Triton. Letters: n rows, d features, K classes; names in capitals are fixed when a
kernel is compiled. `SPLITS` is 0 where the interpreter runs a kernel, which has no products of bfloat16. `UNIT`
divides the number of columns and the stride of rows, which are given in it: what the compiler knows to be a multiple
of four is read four numbers at a time. `IS_WIDE` says that offsets within a tile need 64 bits.
"""

import triton
import triton.language as tl

from deciban.gpu.order_kernels import load_segment, locate_cells


@triton.jit
def sum_by_class(code, classes, value, SPLITS: tl.constexpr):
    """Return the sums of a tile's rows by class, CLASSES×COLS, as doubles: each part is added in single precision."""
    is_class = code[None, :] == classes[:, None]
    if SPLITS == 0:
        return tl.dot(is_class.to(tl.float32), value, input_precision="ieee").to(tl.float64)
    one = is_class.to(tl.bfloat16)
    high = value.to(tl.bfloat16)
    rest = value - high.to(tl.float32)
    middle = rest.to(tl.bfloat16)
    total = tl.dot(one, high).to(tl.float64) + tl.dot(one, middle).to(tl.float64)
    if SPLITS == 3:
        low = (rest - middle.to(tl.float32)).to(tl.bfloat16)
        total += tl.dot(one, low).to(tl.float64)
    return total


@triton.jit
def find_centre(
    x_ptr, out_ptr, d, row_stride, column_stride, n, ROWS: tl.constexpr, COLS: tl.constexpr, IS_WIDE: tl.constexpr
):
    """Write the mean of the finite values of n rows (at most ROWS), by column, in double precision; 0 without any.

    Within `sum_moments`, by every program, this took 0.6 ms more of 1.6, even of 16 rows.
    """
    columns = tl.program_id(0) * COLS + tl.arange(0, COLS)
    r = tl.arange(0, ROWS)
    is_cell = (r < n)[:, None] & (columns < d)[None, :]
    at = locate_cells(r.to(tl.int64), columns, row_stride, column_stride, IS_WIDE)
    x = tl.load(x_ptr + at, mask=is_cell, other=0).to(tl.float64)
    known = is_cell & ((x - x) == 0)
    number = tl.maximum(tl.sum(known.to(tl.int32), axis=0), 1)
    mean = tl.sum(tl.where(known, x, 0.0), axis=0) / number.to(tl.float64)
    tl.store(out_ptr + columns, mean, mask=columns < d)


@triton.jit
def load_codes(code_ptr, first, r, is_row):
    """Return the class codes of a tile's rows; −1 beyond the last row."""
    return tl.where(is_row, tl.load(code_ptr + first + r, mask=is_row, other=0).to(tl.int32), -1)


@triton.jit
def sum_moments(
    x_ptr, code_ptr, centre_ptr, rest_ptr, out_ptr, n, d_units, K, row_units, column_stride,
    ROWS: tl.constexpr, COLS: tl.constexpr, CLASSES: tl.constexpr, BY_CLASS: tl.constexpr, MISSING: tl.constexpr,
    SPLITS: tl.constexpr, STAGES: tl.constexpr, UNIT: tl.constexpr, IS_WIDE: tl.constexpr,
):  # fmt: skip
    """Write Σ (x − c), Σ (x − c)², and with MISSING the number of values, by class: programs × (2 or 3 × K + 1) × d.

    The centre c is one of each column in double precision, which lies after the sums of the first program, where the
    others write zeros; or BY_CLASS one of class and column (K×d). It is the sum of two numbers
    of single precision: numbers near 1e4 are multiples of 2⁻¹⁰, their squares about such a multiple are often halfway
    between two of the numbers that they are split into, and rounding these to even made a variance 3.5e-7 too small.
    """
    d = d_units * UNIT
    row_stride = row_units * UNIT
    program = tl.program_id(0)
    columns = tl.program_id(1) * COLS + tl.arange(0, COLS)
    classes = tl.program_id(2) * CLASSES + tl.arange(0, CLASSES)
    r = tl.arange(0, ROWS)
    is_column = columns < d
    total = tl.zeros([CLASSES, COLS], tl.float64)
    squares = tl.zeros([CLASSES, COLS], tl.float64)
    if MISSING:
        number = tl.zeros([CLASSES, COLS], tl.float64)
    if not BY_CLASS:
        mean = tl.load(out_ptr + (3 if MISSING else 2) * K * d + columns, mask=is_column, other=0.0)
        centre = mean.to(tl.float32)[None, :]
        rest = (mean - mean.to(tl.float32).to(tl.float64)).to(tl.float32)[None, :]
    for i in tl.range(0, tl.cdiv(tl.cdiv(n, ROWS) - program, tl.num_programs(0)), num_stages=STAGES):
        first = (program.to(tl.int64) + i * tl.num_programs(0)) * ROWS
        is_row = r < n - first
        is_cell = is_row[:, None] & is_column[None, :]
        code = load_codes(code_ptr, first, r, is_row)
        at = locate_cells(r, columns, row_stride, column_stride, IS_WIDE)
        x = tl.load(x_ptr + first * row_stride + at, mask=is_cell, other=0.0).to(tl.float32)
        if BY_CLASS:
            centre_at = code[:, None] * d + columns[None, :]
            centre = tl.load(centre_ptr + centre_at, mask=is_cell, other=0.0)
            rest = tl.load(rest_ptr + centre_at, mask=is_cell, other=0.0)
        gap = (x - centre) - rest
        if MISSING:
            known = gap == gap
            gap = tl.where(known, gap, 0.0)
            number += sum_by_class(code, classes, known.to(tl.float32), SPLITS)
        total += sum_by_class(code, classes, gap, SPLITS)
        squares += sum_by_class(code, classes, gap * gap, SPLITS)
    first_sum = out_ptr + program.to(tl.int64) * ((3 if MISSING else 2) * K + 1) * d
    if not BY_CLASS:
        at = first_sum + (3 if MISSING else 2) * K * d + columns
        tl.store(at, tl.zeros([COLS], tl.float64), mask=is_column & (program > 0))
    out = first_sum + classes[:, None] * d + columns[None, :]
    is_cell = (classes < K)[:, None] & is_column[None, :]
    tl.store(out, total, mask=is_cell)
    tl.store(out + K * d, squares, mask=is_cell)
    if MISSING:
        tl.store(out + 2 * K * d, number, mask=is_cell)


@triton.jit
def sum_counts(
    x_ptr, order_ptr, offset_ptr, out_ptr, bad_ptr, n_blocks, width, d_units, row_units, column_stride, threshold,
    ROWS: tl.constexpr, COLS: tl.constexpr, INDICATOR: tl.constexpr, CHECKED: tl.constexpr, STAGES: tl.constexpr,
    UNIT: tl.constexpr, IS_WIDE: tl.constexpr,
):  # fmt: skip
    """Write Σ x of a class's rows in a block, or with INDICATOR the number of those with x above the threshold.

    The result is blocks × K × d. Values must be whole numbers from 0 to 65535, or with INDICATOR finite; where they
    are CHECKED, every program writes whether it found others.
    """
    d = d_units * UNIT
    row_stride = row_units * UNIT
    k = tl.program_id(0)
    block = tl.program_id(1)
    columns = tl.program_id(2) * COLS + tl.arange(0, COLS)
    start, stop = load_segment(offset_ptr, block, n_blocks, k, width)
    is_column = columns < d
    total = tl.zeros([ROWS, COLS], tl.int32)
    if CHECKED:
        is_bad = tl.zeros([ROWS, COLS], tl.int32)
    for i in tl.range(0, tl.cdiv(stop - start, ROWS).to(tl.int32), num_stages=STAGES):
        place = start + i * ROWS + tl.arange(0, ROWS)
        is_row = place < stop
        row = tl.load(order_ptr + place, mask=is_row, other=0).to(tl.int64)
        at = locate_cells(row, columns, row_stride, column_stride, IS_WIDE)
        is_cell = is_row[:, None] & is_column[None, :]
        x = tl.load(x_ptr + at, mask=is_cell, other=0)
        if INDICATOR:
            if CHECKED:
                is_bad |= ((x - x) != 0).to(tl.int32)
            total += ((x > threshold) & is_cell).to(tl.int32)
        else:
            whole = x.to(tl.int32)
            if CHECKED:
                is_bad |= ((whole < 0) | (whole > 65535) | (whole.to(x.dtype) != x)).to(tl.int32)
            total += whole
    segment = block.to(tl.int64) * tl.num_programs(0) + k
    tl.store(out_ptr + segment * d + columns, tl.sum(total.to(tl.int64), axis=0), mask=is_column)
    if CHECKED:
        bad = tl.max(tl.max(is_bad, axis=1), axis=0)
        tl.store(bad_ptr + segment * tl.num_programs(2) + tl.program_id(2), bad)


@triton.jit
def count_bytes(
    x_ptr, order_ptr, offset_ptr, out_ptr, n_blocks, width, d, row_stride, threshold,
    ROWS: tl.constexpr, WORDS: tl.constexpr, BLOCKS: tl.constexpr,
):  # fmt: skip
    """Write the number of a class's rows in BLOCKS blocks with a byte above the threshold: groups × K × 4 d.

    The threshold is from 0 to 127. Rows are read as words of four bytes, d and their stride in words; every place of
    a tile counts in four bytes, 255 tiles at a time. A byte is above t if its high bit is set, or if its other bits
    plus 127 − t set it.
    """
    k = tl.program_id(0)
    group = tl.program_id(1)
    words = tl.program_id(2) * WORDS + tl.arange(0, WORDS)
    is_word = words < d
    rise = (127 - threshold) * 0x01010101
    a = tl.zeros([WORDS], tl.int32)
    b = tl.zeros([WORDS], tl.int32)
    c = tl.zeros([WORDS], tl.int32)
    e = tl.zeros([WORDS], tl.int32)
    for i in range(BLOCKS):
        start, stop = load_segment(offset_ptr, group * BLOCKS + i, n_blocks, k, width)
        for j in range(tl.cdiv(stop - start, ROWS * 255).to(tl.int32)):
            head = start + j * (ROWS * 255)
            end = tl.minimum(stop, head + ROWS * 255)
            total = tl.zeros([ROWS, WORDS], tl.int32)
            for t in range(tl.cdiv(end - head, ROWS).to(tl.int32)):
                place = head + t * ROWS + tl.arange(0, ROWS)
                is_row = place < end
                row = tl.load(order_ptr + place, mask=is_row, other=0).to(tl.int64)
                is_cell = is_row[:, None] & is_word[None, :]
                x = tl.load(x_ptr + row[:, None] * row_stride + words[None, :], mask=is_cell, other=0)
                total += ((((x & 0x7F7F7F7F) + rise) | x) >> 7) & 0x01010101
            a += tl.sum(total & 255, axis=0)
            b += tl.sum((total >> 8) & 255, axis=0)
            c += tl.sum((total >> 16) & 255, axis=0)
            e += tl.sum((total >> 24) & 255, axis=0)
    out = out_ptr + ((group.to(tl.int64) * tl.num_programs(0) + k) * d + words) * 4
    tl.store(out, a, mask=is_word)
    tl.store(out + 1, b, mask=is_word)
    tl.store(out + 2, c, mask=is_word)
    tl.store(out + 3, e, mask=is_word)


@triton.jit
def load_bits(x_ptr, order_ptr, place, n_left, columns, first_level, STRIDE: tl.constexpr, ASM: tl.constexpr):
    """Return the bit of each cell's level, 1 << (level − first); zero for other levels and beyond the last row."""
    is_row = place < n_left
    row = tl.load(order_ptr + place, mask=is_row, other=0).to(tl.int64)
    at = row[:, :, None] * STRIDE + columns[None, :, :]
    level = tl.load(x_ptr + at, mask=is_row[:, :, None], other=-1).to(tl.int32)
    shift = level - first_level
    if ASM:  # a shift by 32 or more, as of a negative number, gives zero
        return tl.inline_asm_elementwise("shl.b32 $0, 1, $1;", "=r,r", [shift], tl.uint32, is_pure=True, pack=1)
    bit = tl.full(shift.shape, 1, tl.uint32) << (shift & 31).to(tl.uint32)
    return tl.where((shift >= 0) & (shift < 32), bit, 0).to(tl.uint32)


@triton.jit
def add_bits(a, b, c):
    """Return the sum of three bits at every place: the low and the high one."""
    u = a ^ b
    return u ^ c, (a & b) | (u & c)


@triton.jit
def carry_bits(plane, carry):
    """Return a plane of bits with a carry added, and the carry of this sum."""
    return plane ^ carry, plane & carry


@triton.jit
def add_eight_tiles(
    x_ptr, order_ptr, place, n_left, columns, first, p0, p1, p2,
    STEP: tl.constexpr, STRIDE: tl.constexpr, ASM: tl.constexpr,
):  # fmt: skip
    """Add the bits of eight tiles of rows to planes of 1, 2 and 4; return these and their carry, of 8."""
    b0 = load_bits(x_ptr, order_ptr, place, n_left, columns, first, STRIDE, ASM)
    b1 = load_bits(x_ptr, order_ptr, place + STEP, n_left, columns, first, STRIDE, ASM)
    b2 = load_bits(x_ptr, order_ptr, place + 2 * STEP, n_left, columns, first, STRIDE, ASM)
    b3 = load_bits(x_ptr, order_ptr, place + 3 * STEP, n_left, columns, first, STRIDE, ASM)
    b4 = load_bits(x_ptr, order_ptr, place + 4 * STEP, n_left, columns, first, STRIDE, ASM)
    b5 = load_bits(x_ptr, order_ptr, place + 5 * STEP, n_left, columns, first, STRIDE, ASM)
    b6 = load_bits(x_ptr, order_ptr, place + 6 * STEP, n_left, columns, first, STRIDE, ASM)
    b7 = load_bits(x_ptr, order_ptr, place + 7 * STEP, n_left, columns, first, STRIDE, ASM)
    p0, a = add_bits(p0, b0, b1)
    p0, b = add_bits(p0, b2, b3)
    p1, c = add_bits(p1, a, b)
    p0, a = add_bits(p0, b4, b5)
    p0, b = add_bits(p0, b6, b7)
    p1, a = add_bits(p1, a, b)
    p2, c = add_bits(p2, c, a)
    return p0, p1, p2, c


@triton.jit
def count_levels(
    x_ptr, order_ptr, offset_ptr, out_ptr, n_blocks, width, V,
    D: tl.constexpr, STRIDE: tl.constexpr, LINES: tl.constexpr, CELLS: tl.constexpr, UNIT: tl.constexpr,
    BLOCKS: tl.constexpr, ASM: tl.constexpr,
):  # fmt: skip
    """Write the number of a class's rows in BLOCKS blocks with each of V levels: (groups · rows a line) × K × V × d.

    A program counts 32 levels. A tile has LINES lines of CELLS places, and a line as many whole rows as fit, for each
    of which the numbers are written: six of 20 columns in 128 places. A row of more columns is read by several
    programs. Every cell is the bit of its level, and bits are added place by place, sixteen tiles at a time, into
    planes of the binary digits of the counts: about five operations for each value, whatever the number of levels. A
    place counts up to 2¹⁵ − 1 rows. 10⁸ × 20 take 2.3 ms; with one row to a line of 32 and eight tiles at a time they
    took 2.7.
    """
    k = tl.program_id(0)
    group = tl.program_id(1)
    slabs: tl.constexpr = (D + CELLS - 1) // CELLS
    per_row: tl.constexpr = (D if D < CELLS else CELLS) // UNIT
    rows: tl.constexpr = CELLS // UNIT // per_row
    g = tl.arange(0, CELLS // UNIT)
    columns = (tl.program_id(2) % slabs) * CELLS + (g % per_row)[:, None] * UNIT + tl.arange(0, UNIT)[None, :]
    is_place = (g // per_row < rows)[:, None] & (columns < D)
    first = (tl.program_id(2) // slabs) * 32
    # places beyond the whole rows of a line, or the last column, have no row
    last = tl.full([CELLS // UNIT], 1 << 30, tl.int32)
    place = tl.arange(0, LINES)[:, None] * rows + tl.where(tl.max(is_place.to(tl.int32), 1) > 0, g // per_row, last)
    zero = tl.zeros([LINES, CELLS // UNIT, UNIT], tl.uint32)
    p0, p1, p2, p3, p4, p5, p6, p7 = zero, zero, zero, zero, zero, zero, zero, zero
    p8, p9, p10, p11, p12, p13, p14 = zero, zero, zero, zero, zero, zero, zero
    step: tl.constexpr = LINES * rows
    for i in range(BLOCKS):
        start, stop = load_segment(offset_ptr, group * BLOCKS + i, n_blocks, k, width)
        for j in range(tl.cdiv(stop - start, step * 16).to(tl.int32)):
            head = start + j * (step * 16)
            left = (stop - head).to(tl.int32)
            rows_ptr = order_ptr + head
            p0, p1, p2, a = add_eight_tiles(
                x_ptr, rows_ptr, place, left, columns, first, p0, p1, p2, step, STRIDE, ASM
            )
            p0, p1, p2, b = add_eight_tiles(
                x_ptr, rows_ptr + 8 * step, place, left - 8 * step, columns, first, p0, p1, p2, step, STRIDE, ASM
            )
            p3, c = add_bits(p3, a, b)
            p4, c = carry_bits(p4, c)
            p5, c = carry_bits(p5, c)
            p6, c = carry_bits(p6, c)
            p7, c = carry_bits(p7, c)
            p8, c = carry_bits(p8, c)
            p9, c = carry_bits(p9, c)
            p10, c = carry_bits(p10, c)
            p11, c = carry_bits(p11, c)
            p12, c = carry_bits(p12, c)
            p13, c = carry_bits(p13, c)
            p14, c = carry_bits(p14, c)
    segment = (group.to(tl.int64) * rows + g // per_row) * tl.num_programs(0) + k
    out = out_ptr + segment[:, None] * V * D + columns
    for v in range(tl.minimum(V - first, 32)):
        n = ((p0 >> v) & 1) + (((p1 >> v) & 1) << 1) + (((p2 >> v) & 1) << 2) + (((p3 >> v) & 1) << 3)
        n += (((p4 >> v) & 1) << 4) + (((p5 >> v) & 1) << 5) + (((p6 >> v) & 1) << 6) + (((p7 >> v) & 1) << 7)
        n += (((p8 >> v) & 1) << 8) + (((p9 >> v) & 1) << 9) + (((p10 >> v) & 1) << 10) + (((p11 >> v) & 1) << 11)
        n += (((p12 >> v) & 1) << 12) + (((p13 >> v) & 1) << 13) + (((p14 >> v) & 1) << 14)
        tl.store(out + (first + v) * D, tl.sum(n.to(tl.int32), axis=0), mask=is_place)


@triton.jit
def count_stored(
    start_ptr, index_ptr, value_ptr, code_ptr, out_ptr, bad_ptr, n, d, threshold,
    ROWS: tl.constexpr, CELLS: tl.constexpr, INDICATOR: tl.constexpr,
):  # fmt: skip
    """Add the stored values of CSR rows, or with INDICATOR one for each above the threshold, to K×d whole numbers.

    Sums of whole numbers are the same in any order, so they are added in memory. Values must be whole numbers from 0
    to 65535, or finite with INDICATOR and in increasing order of columns, so that none is repeated; a program writes
    whether it found others.
    """
    program = tl.program_id(0).to(tl.int64)
    is_bad = tl.zeros([CELLS], tl.int32)
    for i in range(ROWS):
        row = program * ROWS + i
        start = tl.load(start_ptr + row, mask=row < n, other=0)
        stop = tl.load(start_ptr + row + 1, mask=row < n, other=0)
        k = tl.load(code_ptr + row, mask=row < n, other=0).to(tl.int64)
        for c in range(tl.cdiv(stop - start, CELLS).to(tl.int32)):
            at = start + c * CELLS + tl.arange(0, CELLS)
            is_cell = at < stop
            j = tl.load(index_ptr + at, mask=is_cell, other=0).to(tl.int64)
            is_bad |= ((j < 0) | (j >= d)).to(tl.int32)
            is_cell &= (j >= 0) & (j < d)
            value = tl.load(value_ptr + at, mask=is_cell, other=0)
            if INDICATOR:
                before = tl.load(index_ptr + at - 1, mask=is_cell & (at > start), other=-1).to(tl.int64)
                is_bad |= (((value - value) != 0) | (is_cell & (j <= before))).to(tl.int32)
                count = (value > threshold).to(tl.int64)
            else:
                count = value.to(tl.int64)
                is_bad |= ((count < 0) | (count > 65535) | (count.to(value.dtype) != value)).to(tl.int32)
            tl.atomic_add(out_ptr + k * d + j, count, mask=is_cell & (count != 0), sem="relaxed")
    tl.store(bad_ptr + program, tl.max(is_bad, axis=0))
