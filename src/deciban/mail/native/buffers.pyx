# cython: language_level=3
"""Bytes that are written one after the other."""

from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.string cimport memcpy
from deciban.mail.native.spans cimport Span

cdef enum:
    SMALLEST = 1 << 12


cdef class Buffer:
    """Bytes that are written one after the other; there is always room for one more."""

    def __dealloc__(self):
        PyMem_Free(self.letters)

    cdef int _widen(self, Py_ssize_t more) except -1:
        """Have room for so many more bytes."""
        cdef Py_ssize_t room = 2 * self.room + more + SMALLEST
        cdef unsigned char* letters = <unsigned char*> PyMem_Realloc(self.letters, room)
        if letters == NULL:
            raise MemoryError
        self.letters, self.room = letters, room
        return 0

    cdef int add(self, Span span, Py_ssize_t begin, Py_ssize_t end) except -1:
        """Write what stands between two places."""
        begin, end = max(begin, 0), min(end, span.size)
        if begin >= end:
            return 0
        if self.room - self.size < end - begin:
            self._widen(end - begin)
        memcpy(self.letters + self.size, span.start + begin, end - begin)
        self.size += end - begin
        return 0

    cdef Span span(self) noexcept:
        """What was written; only until more is."""
        cdef Span all
        all.start, all.size = self.letters, self.size
        return all
