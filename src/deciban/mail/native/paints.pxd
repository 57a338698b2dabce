from deciban.mail.native.spans cimport Span
from deciban.mail.native.table cimport Table

cdef enum:
    MOST_PAINTS = 1 << 12
    NO_COLOUR = -2

cdef struct Paint:
    bint hides
    int colour
    int ground

cdef class Paints:
    cdef Table written
    cdef Paint kept[MOST_PAINTS]
    cdef unsigned int n_kept
    cdef object reader

    cdef int find(self, Span span, Py_ssize_t begin, Py_ssize_t end, Paint* found) except -1
    cdef int forget(self) except -1
    cdef int read(self, str written, Paint* found) except -1

cdef bint alike(int one, int other) noexcept
