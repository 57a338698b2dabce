"""Triton kernels: sums by class, and scores that are finished before they leave the processor.

A program reads tiles of rows, one after the other, and writes one result for all of them; the results of programs are
added in their order, so the same rows give the same bits. Moments are sums of the rows in their own order, by
products with the indicators of the classes, in the matrix units: a number is split into two or three of type
bfloat16, whose products with 0 and 1 are exact. Counts are sums of rows that are sorted by class, in chunks of one
class each.

Importing this module imports Triton. Letters: n rows, d features, K classes; names in capitals are fixed when a
kernel is compiled. `SPLITS` is 0 where the interpreter runs a kernel, which has no products of bfloat16.
"""

import triton
import triton.language as tl


@triton.jit
def sum_by_class(code, classes, value, SPLITS: tl.constexpr):
    """Return the sums of a tile's rows by class, CLASSES×COLS, in double precision."""
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
def load_codes(code_ptr, first, r, is_row):
    """Return the class codes of a tile's rows; −1 beyond the last row."""
    return tl.where(is_row, tl.load(code_ptr + first + r, mask=is_row, other=0).to(tl.int32), -1)


@triton.jit
def sum_moments(
    x_ptr, code_ptr, centre_ptr, rest_ptr, out_ptr, n, d, K, row_stride, column_stride,
    ROWS: tl.constexpr, COLS: tl.constexpr, CLASSES: tl.constexpr, BY_CLASS: tl.constexpr, MISSING: tl.constexpr,
    SPLITS: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Write Σ (x − c) and Σ (x − c)², and with MISSING the number of values, by class: programs × 2 or 3 × K × d.

    The centre c is that of the column (d), or BY_CLASS that of class and column (K×d). It is the sum of two numbers
    of single precision: numbers near 1e4 are multiples of 2⁻¹⁰, their squares about such a multiple are often halfway
    between two of the numbers that they are split into, and rounding these to even made a variance 3.5e-7 too small.
    """
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
        centre = tl.load(centre_ptr + columns, mask=is_column, other=0.0)[None, :]
        rest = tl.load(rest_ptr + columns, mask=is_column, other=0.0)[None, :]
    for i in tl.range(0, tl.cdiv(tl.cdiv(n, ROWS) - program, tl.num_programs(0)), num_stages=STAGES):
        first = (program.to(tl.int64) + i * tl.num_programs(0)) * ROWS
        is_row = r < n - first
        is_cell = is_row[:, None] & is_column[None, :]
        code = load_codes(code_ptr, first, r, is_row)
        at = r[:, None] * row_stride + columns[None, :] * column_stride
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
    out = out_ptr + program.to(tl.int64) * (3 if MISSING else 2) * K * d + classes[:, None] * d + columns[None, :]
    is_cell = (classes < K)[:, None] & is_column[None, :]
    tl.store(out, total, mask=is_cell)
    tl.store(out + K * d, squares, mask=is_cell)
    if MISSING:
        tl.store(out + 2 * K * d, number, mask=is_cell)


@triton.jit
def count_labels(y_ptr, out_ptr, n, ROWS: tl.constexpr):
    """Write the number of rows of each label 0, 1, …, 15: programs × 16. A program reads at most 255 tiles.

    Every place of a tile counts its labels in the bytes of two numbers.
    """
    program = tl.program_id(0)
    low = tl.zeros([ROWS], tl.int64)
    high = tl.zeros([ROWS], tl.int64)
    for i in range(tl.cdiv(tl.cdiv(n, ROWS) - program, tl.num_programs(0))):
        rows = (program.to(tl.int64) + i * tl.num_programs(0)) * ROWS + tl.arange(0, ROWS)
        label = tl.load(y_ptr + rows, mask=rows < n, other=127).to(tl.int64)
        one = tl.full([ROWS], 1, tl.int64) << ((label & 7) * 8)
        low += tl.where((label >= 0) & (label < 8), one, 0)
        high += tl.where((label >= 8) & (label < 16), one, 0)
    for b in range(8):
        tl.store(out_ptr + program * 16 + b, tl.sum((low >> (8 * b)) & 255, axis=0).to(tl.int32))
        tl.store(out_ptr + program * 16 + 8 + b, tl.sum((high >> (8 * b)) & 255, axis=0).to(tl.int32))


@triton.jit
def sum_counts(
    x_ptr, order_ptr, chunk_ptr, out_ptr, bad_ptr, d, row_stride, column_stride, threshold,
    ROWS: tl.constexpr, COLS: tl.constexpr, INDICATOR: tl.constexpr, CHECKED: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Write Σ x of a chunk's rows, or with INDICATOR the number of those with x above the threshold: chunks × d.

    Values must be whole numbers from 0 to 65535; where they are CHECKED, a program that finds others, or NaN or ±∞,
    writes that there are some.
    """
    columns = tl.program_id(0) * COLS + tl.arange(0, COLS)
    chunk = tl.program_id(1)
    start = tl.load(chunk_ptr + chunk)
    stop = tl.load(chunk_ptr + chunk + 1)
    is_column = columns < d
    total = tl.zeros([ROWS, COLS], tl.int32)
    if CHECKED:
        is_bad = tl.zeros([ROWS, COLS], tl.int32)
    for i in tl.range(0, tl.cdiv(stop - start, ROWS), num_stages=STAGES):
        place = start + i * ROWS + tl.arange(0, ROWS)
        is_row = place < stop
        row = tl.load(order_ptr + place, mask=is_row, other=0).to(tl.int64)
        at = row[:, None] * row_stride + columns[None, :] * column_stride
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
    tl.store(out_ptr + chunk.to(tl.int64) * d + columns, tl.sum(total, axis=0), mask=is_column)
    if CHECKED:
        tl.store(bad_ptr + chunk * tl.num_programs(0) + tl.program_id(0), tl.max(tl.max(is_bad, axis=1), axis=0))


@triton.jit
def count_bytes(
    x_ptr, order_ptr, chunk_ptr, out_ptr, d, row_stride, threshold,
    ROWS: tl.constexpr, WORDS: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Write the number of a chunk's rows with a byte above the threshold, from 0 to 127: chunks × d.

    Rows are read as words of four bytes, d and their stride in words; every place of a tile counts in four bytes, so
    a chunk has at most 255 tiles. A byte is above t if its high bit is set, or if its other bits plus 127 − t set it.
    """
    words = tl.program_id(0) * WORDS + tl.arange(0, WORDS)
    chunk = tl.program_id(1)
    start = tl.load(chunk_ptr + chunk)
    stop = tl.load(chunk_ptr + chunk + 1)
    is_word = words < d
    total = tl.zeros([ROWS, WORDS], tl.int32)
    rise = (127 - threshold) * 0x01010101
    for i in tl.range(0, tl.cdiv(stop - start, ROWS), num_stages=STAGES):
        place = start + i * ROWS + tl.arange(0, ROWS)
        is_row = place < stop
        row = tl.load(order_ptr + place, mask=is_row, other=0).to(tl.int64)
        is_cell = is_row[:, None] & is_word[None, :]
        x = tl.load(x_ptr + row[:, None] * row_stride + words[None, :], mask=is_cell, other=0)
        total += ((((x & 0x7F7F7F7F) + rise) | x) >> 7) & 0x01010101
    out = out_ptr + (chunk.to(tl.int64) * d + words) * 4
    for b in range(4):
        tl.store(out + b, tl.sum((total >> (8 * b)) & 255, axis=0), mask=is_word)


@triton.jit
def sum_products(
    x_ptr, order_ptr, chunk_ptr, class_ptr, centre_ptr, rest_ptr, out_ptr, d, row_stride, column_stride,
    ROWS: tl.constexpr, COLS: tl.constexpr, PARTS: tl.constexpr, PRECISION: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Write Σ (x_i − c_i)(x_j − c_j) of a chunk's rows, c the centre of their class: chunks × d × d.

    PARTS tiles are summed before they are added to the others: the matrix units cut sums off, and do not round them.
    """
    chunk = tl.program_id(1)
    blocks = tl.cdiv(d, COLS)
    left = (tl.program_id(0) // blocks) * COLS + tl.arange(0, COLS)
    right = (tl.program_id(0) % blocks) * COLS + tl.arange(0, COLS)
    start = tl.load(chunk_ptr + chunk)
    stop = tl.load(chunk_ptr + chunk + 1)
    k = tl.load(class_ptr + chunk)
    left_centre = tl.load(centre_ptr + k * d + left, mask=left < d, other=0.0)[None, :]
    left_rest = tl.load(rest_ptr + k * d + left, mask=left < d, other=0.0)[None, :]
    right_centre = tl.load(centre_ptr + k * d + right, mask=right < d, other=0.0)[None, :]
    right_rest = tl.load(rest_ptr + k * d + right, mask=right < d, other=0.0)[None, :]
    total = tl.zeros([COLS, COLS], tl.float32)
    for i in tl.range(0, tl.cdiv(stop - start, ROWS * PARTS)):
        part = tl.zeros([COLS, COLS], tl.float32)
        for j in tl.range(0, PARTS, num_stages=STAGES):
            place = start + (i * PARTS + j) * ROWS + tl.arange(0, ROWS)
            is_row = (place < stop)[:, None]
            row = tl.load(order_ptr + place, mask=place < stop, other=0).to(tl.int64)[:, None] * row_stride
            a = tl.load(x_ptr + row + left[None, :] * column_stride, mask=is_row & (left < d)[None, :], other=0.0)
            b = tl.load(x_ptr + row + right[None, :] * column_stride, mask=is_row & (right < d)[None, :], other=0.0)
            a = tl.where(is_row, (a.to(tl.float32) - left_centre) - left_rest, 0.0)
            b = tl.where(is_row, (b.to(tl.float32) - right_centre) - right_rest, 0.0)
            part = tl.dot(tl.trans(a), b, part, input_precision=PRECISION)
        total += part
    out = out_ptr + chunk.to(tl.int64) * d * d + left[:, None] * d + right[None, :]
    tl.store(out, total, mask=(left < d)[:, None] & (right < d)[None, :])


@triton.jit
def count_levels(
    x_ptr, order_ptr, chunk_ptr, out_ptr, bad_ptr, d, V, row_stride, column_stride,
    ROWS: tl.constexpr, COLS: tl.constexpr, WORDS: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Write the number of rows with each level 0, 1, …, V − 1, at most 32, in a chunk: chunks × V × d.

    Every place of a tile counts its levels in the bytes of WORDS numbers, so a chunk has at most 255 tiles. A
    negative code is a missing value. A program writes whether it found a code of V or more, and whether a negative
    one.
    """
    columns = tl.program_id(0) * COLS + tl.arange(0, COLS)
    chunk = tl.program_id(1)
    start = tl.load(chunk_ptr + chunk)
    stop = tl.load(chunk_ptr + chunk + 1)
    is_column = columns < d
    a = tl.zeros([ROWS, COLS], tl.int64)
    b = tl.zeros([ROWS, COLS], tl.int64)
    c = tl.zeros([ROWS, COLS], tl.int64)
    e = tl.zeros([ROWS, COLS], tl.int64)
    is_high = tl.zeros([ROWS, COLS], tl.int32)
    is_negative = tl.zeros([ROWS, COLS], tl.int32)
    for i in tl.range(0, tl.cdiv(stop - start, ROWS), num_stages=STAGES):
        place = start + i * ROWS + tl.arange(0, ROWS)
        is_row = place < stop
        row = tl.load(order_ptr + place, mask=is_row, other=0).to(tl.int64)
        at = row[:, None] * row_stride + columns[None, :] * column_stride
        is_cell = is_row[:, None] & is_column[None, :]
        level = tl.load(x_ptr + at, mask=is_cell, other=0)
        is_high |= (level >= V).to(tl.int32)
        is_negative |= (level < 0).to(tl.int32)
        level = tl.where(is_cell & (level < V), level.to(tl.int32), -1)
        one = tl.full([ROWS, COLS], 1, tl.int64) << ((level & 7) * 8).to(tl.int64)
        word = level >> 3
        a += tl.where(word == 0, one, 0)
        if WORDS > 1:
            b += tl.where(word == 1, one, 0)
        if WORDS > 2:
            c += tl.where(word == 2, one, 0)
        if WORDS > 3:
            e += tl.where(word == 3, one, 0)
    out = out_ptr + chunk.to(tl.int64) * V * d + columns
    for v in range(V):
        shift = (v % 8) * 8
        word = v // 8
        counter = tl.where(word == 0, a, tl.where(word == 1, b, tl.where(word == 2, c, e)))
        tl.store(out + v * d, tl.sum((counter >> shift) & 255, axis=0).to(tl.int32), mask=is_column)
    bad = bad_ptr + 2 * (chunk * tl.num_programs(0) + tl.program_id(0))
    tl.store(bad, tl.max(tl.max(is_high, axis=1), axis=0))
    tl.store(bad + 1, tl.max(tl.max(is_negative, axis=1), axis=0))


@triton.jit
def score_gaussian(
    x_ptr, centre_ptr, square_ptr, slope_ptr, constant_ptr, out_ptr, bad_ptr, n, d, K,
    row_stride, column_stride,
    ROWS: tl.constexpr, COLS: tl.constexpr, CLASSES: tl.constexpr, WANTED: tl.constexpr, PRECISION: tl.constexpr,
    STAGES: tl.constexpr,
):  # fmt: skip
    """Write the scores g²·a_k + g·b_k + c_k of rows, g = x − centre, finished as WANTED; rows with NaN or ±∞ are bad.

    The part of the score that all classes share is that of one more class, K: where ln p(x, k) or ln p(x) is wanted,
    it is added to the others.
    """
    program = tl.program_id(0)
    r = tl.arange(0, ROWS)
    columns = tl.arange(0, COLS)
    classes = tl.arange(0, CLASSES)
    is_column = columns < d
    is_weight = is_column[:, None] & (classes <= K)[None, :]
    weight_at = classes[None, :] * d + columns[:, None]
    centre = tl.load(centre_ptr + columns, mask=is_column, other=0.0)[None, :]
    square = tl.load(square_ptr + weight_at, mask=is_weight, other=0.0)
    slope = tl.load(slope_ptr + weight_at, mask=is_weight, other=0.0)
    constant = tl.load(constant_ptr + classes, mask=classes < K, other=float("-inf"))[None, :]
    is_bad = tl.zeros([ROWS], tl.int32)
    for i in tl.range(0, tl.cdiv(tl.cdiv(n, ROWS) - program, tl.num_programs(0)), num_stages=STAGES):
        first = (program.to(tl.int64) + i * tl.num_programs(0)) * ROWS
        is_row = r < n - first
        at = r[:, None] * row_stride + columns[None, :] * column_stride
        is_cell = is_row[:, None] & is_column[None, :]
        x = tl.load(x_ptr + first * row_stride + at, mask=is_cell, other=0.0).to(tl.float32)
        gap = x - centre
        score = tl.dot(gap * gap, square, input_precision=PRECISION)
        score = tl.dot(gap, slope, score, input_precision=PRECISION)
        if WANTED == "joint" or WANTED == "density":
            shared = tl.sum(tl.where(classes[None, :] == K, score, 0.0), axis=1)
        score += constant
        top = tl.max(score, axis=1)
        is_bad |= (is_row & ~(tl.abs(top) < float("inf"))).to(tl.int32)
        if WANTED == "winner":
            tl.store(out_ptr + first + r, tl.argmax(score, axis=1).to(tl.int64), mask=is_row)
        elif WANTED == "density":
            density = shared + top + tl.log(tl.sum(tl.exp(score - top[:, None]), axis=1))
            tl.store(out_ptr + first + r, density, mask=is_row)
        else:
            if WANTED == "joint":
                score += shared[:, None]
            else:
                score -= top[:, None]
                power = tl.exp(score)
                if WANTED == "posterior":
                    score = power / tl.sum(power, axis=1)[:, None]
                else:
                    score -= tl.log(tl.sum(power, axis=1))[:, None]
            out = out_ptr + first * K + r[:, None] * K + classes[None, :]
            tl.store(out, score, mask=is_row[:, None] & (classes < K)[None, :])
    tl.store(bad_ptr + program, tl.max(is_bad, axis=0))
