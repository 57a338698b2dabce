"""Triton kernels of products: scatter by class, Gaussian scores, and passes of logistic regression.

The matrix units multiply numbers of half precision, twice as fast as those of type tf32, and add products in single
precision. A number g in units of its column, near 1, is the sum of two of half precision, g = h + l, to 22 bits; the
product of two such sums is hh' + hl' + lh' to 2⁻²², as accurate as three products of type tf32, at half their cost.
Numbers beyond 65504 units become infinite, and a kernel's results with them: the caller then uses its definition.

Importing this module imports Triton. Letters and names are those of `gpu.kernels`.
"""

import triton
import triton.language as tl

from deciban.gpu.order_kernels import load_segment, locate_cells


@triton.jit
def split_half(value):
    """Return two numbers of half precision whose sum is the value."""
    high = value.to(tl.float16)
    return high, (value - high.to(tl.float32)).to(tl.float16)


@triton.jit
def sum_products(
    x_ptr, order_ptr, offset_ptr, centre_ptr, rest_ptr, unit_ptr, out_ptr, n_blocks, width, d_units,
    row_units, column_stride,
    ROWS: tl.constexpr, COLS: tl.constexpr, PARTS: tl.constexpr, ONE_SLAB: tl.constexpr, PRECISION: tl.constexpr,
    STAGES: tl.constexpr, UNIT: tl.constexpr, IS_WIDE: tl.constexpr,
):  # fmt: skip
    """Write T = Σ h_i h_j + 2 h_i l_j of a class's rows in a block, g = h + l the distance from its centre.

    (T + Tᵀ) / 2 is Σ g_i g_j, so one of the two mixed products suffices. The result is blocks × K × d × d, in the
    units of class and column. PARTS tiles are summed before they are added to the others: the matrix units cut sums
    off, and do not round them.
    """
    d = d_units * UNIT
    row_stride = row_units * UNIT
    k = tl.program_id(0)
    block = tl.program_id(1)
    slabs = tl.cdiv(d, COLS)
    left = (tl.program_id(2) // slabs) * COLS + tl.arange(0, COLS)
    right = (tl.program_id(2) % slabs) * COLS + tl.arange(0, COLS)
    start, stop = load_segment(offset_ptr, block, n_blocks, k, width)
    left_centre = tl.load(centre_ptr + k * d + left, mask=left < d, other=0.0)[None, :]
    left_rest = tl.load(rest_ptr + k * d + left, mask=left < d, other=0.0)[None, :]
    left_unit = tl.load(unit_ptr + k * d + left, mask=left < d, other=0.0)[None, :]
    right_centre = tl.load(centre_ptr + k * d + right, mask=right < d, other=0.0)[None, :]
    right_rest = tl.load(rest_ptr + k * d + right, mask=right < d, other=0.0)[None, :]
    right_unit = tl.load(unit_ptr + k * d + right, mask=right < d, other=0.0)[None, :]
    total = tl.zeros([COLS, COLS], tl.float32)
    cross = tl.zeros([COLS, COLS], tl.float32)
    for i in tl.range(0, tl.cdiv(stop - start, ROWS * PARTS).to(tl.int32)):
        part = tl.zeros([COLS, COLS], tl.float32)
        for j in tl.range(0, PARTS, num_stages=STAGES):
            place = start + (i * PARTS + j) * ROWS + tl.arange(0, ROWS)
            is_row = (place < stop)[:, None]
            row = tl.load(order_ptr + place, mask=place < stop, other=0).to(tl.int64)
            at = locate_cells(row, left, row_stride, column_stride, IS_WIDE)
            a = tl.load(x_ptr + at, mask=is_row & (left < d)[None, :], other=0.0)
            a = tl.where(is_row, ((a.to(tl.float32) - left_centre) - left_rest) * left_unit, 0.0)
            high, low = split_half(a)
            if ONE_SLAB:
                other, other_low = high, low
            else:
                at = locate_cells(row, right, row_stride, column_stride, IS_WIDE)
                b = tl.load(x_ptr + at, mask=is_row & (right < d)[None, :], other=0.0)
                b = tl.where(is_row, ((b.to(tl.float32) - right_centre) - right_rest) * right_unit, 0.0)
                other, other_low = split_half(b)
            part = tl.dot(tl.trans(high), other, part, input_precision=PRECISION)
            cross = tl.dot(tl.trans(high), other_low, cross, input_precision=PRECISION)
        total += part
    out = out_ptr + (block.to(tl.int64) * tl.num_programs(0) + k) * d * d + left[:, None] * d + right[None, :]
    tl.store(out, total + 2.0 * cross, mask=(left < d)[:, None] & (right < d)[None, :])


@triton.jit
def score_gaussian(
    x_ptr, centre_ptr, unit_ptr, square_ptr, slope_ptr, constant_ptr, out_ptr, bad_ptr, n, d_units, K,
    row_units, column_stride,
    ROWS: tl.constexpr, COLS: tl.constexpr, CLASSES: tl.constexpr, WANTED: tl.constexpr, HALVES: tl.constexpr,
    PRECISION: tl.constexpr, STAGES: tl.constexpr, UNIT: tl.constexpr, IS_WIDE: tl.constexpr,
):  # fmt: skip
    """Write the scores g²·a_k + g·b_k + c_k, g = (x − centre)·unit, finished as WANTED; rows with NaN or ±∞ are bad.

    The part of the score that all classes share is that of one more class, K: where ln p(x, k) or ln p(x) is wanted,
    it is added to the others. HALVES: products of two numbers of half precision each, else of PRECISION.
    """
    d = d_units * UNIT
    row_stride = row_units * UNIT
    program = tl.program_id(0)
    r = tl.arange(0, ROWS)
    columns = tl.arange(0, COLS)
    classes = tl.arange(0, CLASSES)
    is_column = columns < d
    is_weight = is_column[:, None] & (classes <= K)[None, :]
    weight_at = classes[None, :] * d + columns[:, None]
    centre = tl.load(centre_ptr + columns, mask=is_column, other=0.0)[None, :]
    unit = tl.load(unit_ptr + columns, mask=is_column, other=0.0)[None, :]
    square = tl.load(square_ptr + weight_at, mask=is_weight, other=0.0)
    slope = tl.load(slope_ptr + weight_at, mask=is_weight, other=0.0)
    if HALVES:
        square, square_low = split_half(square)
        slope, slope_low = split_half(slope)
    constant = tl.load(constant_ptr + classes, mask=classes < K, other=float("-inf"))[None, :]
    shared_constant = tl.load(constant_ptr + K)
    is_bad = tl.zeros([ROWS], tl.int32)
    for i in tl.range(0, tl.cdiv(tl.cdiv(n, ROWS) - program, tl.num_programs(0)), num_stages=STAGES):
        first = (program.to(tl.int64) + i * tl.num_programs(0)) * ROWS
        is_row = r < n - first
        at = locate_cells(r, columns, row_stride, column_stride, IS_WIDE)
        is_cell = is_row[:, None] & is_column[None, :]
        x = tl.load(x_ptr + first * row_stride + at, mask=is_cell, other=0.0).to(tl.float32)
        gap = (x - centre) * unit
        if HALVES:
            high, low = split_half(gap)
            squared, squared_low = split_half(gap * gap)
            score = tl.dot(squared_low, square)
            score = tl.dot(low, slope, score)
            score = tl.dot(squared, square_low, score)
            score = tl.dot(high, slope_low, score)
            score = tl.dot(squared, square, score)
            score = tl.dot(high, slope, score)
        else:
            score = tl.dot(gap * gap, square, input_precision=PRECISION)
            score = tl.dot(gap, slope, score, input_precision=PRECISION)
        if WANTED == "joint" or WANTED == "density":
            shared = tl.sum(tl.where(classes[None, :] == K, score, 0.0), axis=1) + shared_constant
        score += constant
        top = tl.max(score, axis=1)
        is_bad |= (is_row & ~(tl.abs(top) < float("inf"))).to(tl.int32)
        if WANTED == "winner":
            winner = tl.min(tl.where(score == top[:, None], classes[None, :], CLASSES), axis=1)
            tl.store(out_ptr + first + r, winner.to(tl.int64), mask=is_row)
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


@triton.jit
def sum_logistic(
    x_ptr, code_ptr, centre_ptr, unit_ptr, weight_ptr, bias_ptr, out_ptr, loss_ptr, n, d_units, K,
    row_units, column_stride,
    ROWS: tl.constexpr, COLS: tl.constexpr, CLASSES: tl.constexpr, STAGES: tl.constexpr, UNIT: tl.constexpr,
    IS_WIDE: tl.constexpr,
):  # fmt: skip
    """Write the sums of −ln p(y|x) and of r_k g and r_k, r_k = p(k|x) − [y = k], g = (x − centre)·unit.

    The scores are W g + b; the sums of programs are programs × K × (d+1), those of r_k last.
    """
    d = d_units * UNIT
    row_stride = row_units * UNIT
    program = tl.program_id(0)
    r = tl.arange(0, ROWS)
    columns = tl.arange(0, COLS)
    classes = tl.arange(0, CLASSES)
    is_column = columns < d
    is_class = classes < K
    centre = tl.load(centre_ptr + columns, mask=is_column, other=0.0)[None, :]
    unit = tl.load(unit_ptr + columns, mask=is_column, other=0.0)[None, :]
    weight_at = weight_ptr + classes[None, :] * d + columns[:, None]
    weight, weight_low = split_half(tl.load(weight_at, mask=is_column[:, None] & is_class[None, :], other=0.0))
    bias = tl.load(bias_ptr + classes, mask=is_class, other=float("-inf"))[None, :]
    total = tl.zeros([CLASSES, COLS], tl.float32)
    cross = tl.zeros([CLASSES, COLS], tl.float32)
    sums = tl.zeros([ROWS, CLASSES], tl.float32)
    loss = tl.zeros([ROWS], tl.float64)
    for i in tl.range(0, tl.cdiv(tl.cdiv(n, ROWS) - program, tl.num_programs(0)), num_stages=STAGES):
        first = (program.to(tl.int64) + i * tl.num_programs(0)) * ROWS
        is_row = r < n - first
        at = locate_cells(r, columns, row_stride, column_stride, IS_WIDE)
        x = tl.load(x_ptr + first * row_stride + at, mask=is_row[:, None] & is_column[None, :], other=0.0)
        code = tl.load(code_ptr + first + r, mask=is_row, other=0).to(tl.int32)
        high, low = split_half((x.to(tl.float32) - centre) * unit)
        score = tl.dot(low, weight)
        score = tl.dot(high, weight_low, score)
        score = tl.dot(high, weight, score) + bias
        top = tl.max(score, axis=1)
        power = tl.exp(score - top[:, None])
        norm = tl.sum(power, axis=1)
        is_own = classes[None, :] == code[:, None]
        own = tl.sum(tl.where(is_own, score, 0.0), axis=1)
        loss += tl.where(is_row, top - own + tl.log(norm), 0.0).to(tl.float64)
        residual = tl.where(is_row[:, None], power / norm[:, None] - is_own.to(tl.float32), 0.0)
        sums += residual
        residual, residual_low = split_half(residual)
        total += tl.dot(tl.trans(residual), high)
        cross = tl.dot(tl.trans(residual), low, cross)
        cross = tl.dot(tl.trans(residual_low), high, cross)
    out = out_ptr + program.to(tl.int64) * K * (d + 1) + classes[:, None] * (d + 1)
    tl.store(out + columns[None, :], total + cross, mask=is_class[:, None] & is_column[None, :])
    tl.store(out + d, tl.sum(sums, axis=0)[:, None], mask=is_class[:, None])
    tl.store(loss_ptr + program, tl.sum(loss, axis=0))
