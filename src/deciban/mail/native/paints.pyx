# cython: language_level=3
"""Styles and colours of tags: read by Python, and remembered."""

from deciban.mail.colours import NEAR as _NEAR

from libc.stdint cimport uint32_t
from deciban.mail.native.spans cimport Span
from deciban.mail.native.table cimport Table

cdef int NEAR = _NEAR
cdef enum:
    LONGEST_KEPT = 300


cdef class Paints:
    """What attributes paint, remembered by how they are written."""

    def __init__(self, reader):
        self.reader = reader
        self.forget()

    cdef int forget(self) except -1:
        self.written = Table()
        self.read("", &self.kept[0])
        self.n_kept = 1

    cdef int find(self, Span span, Py_ssize_t begin, Py_ssize_t end, Paint* found) except -1:
        """What a value paints that stands in some bytes."""
        cdef uint32_t number
        begin, end = max(begin, 0), min(end, span.size)
        if begin >= end:
            found[0] = self.kept[0]
            return 0
        if end - begin > LONGEST_KEPT:
            return self.read(span.start[begin:end].decode("utf-8", "replace"), found)
        if self.n_kept == MOST_PAINTS or self.n_kept != self.written.n:  # the last could not be read
            self.forget()
        number = self.written._number(span.start + begin, end - begin)
        if number == self.n_kept:
            self.read(span.start[begin:end].decode("utf-8", "replace"), &self.kept[number])
            self.n_kept += 1
        found[0] = self.kept[number]

    cdef int read(self, str written, Paint* found) except -1:
        hides, colour, ground = self.reader(written)
        found.hides = hides
        found.colour = NO_COLOUR if colour is None else colour
        found.ground = NO_COLOUR if ground is None else ground


cdef bint alike(int one, int other) noexcept:
    """Whether nobody could tell two colours apart; a ground that is not known (below 0) is like none."""
    cdef int shift
    if other < 0:
        return False
    for shift in range(0, 24, 8):
        if not -NEAR <= (one >> shift & 255) - (other >> shift & 255) <= NEAR:
            return False
    return True
