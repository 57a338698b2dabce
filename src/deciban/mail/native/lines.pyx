# cython: language_level=3
"""Lines of headers: where they end, and what they say on one line."""

from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from deciban.mail.native.spans cimport Span, byte, find

cdef uint64_t EACH = 0x0101010101010101
"""In each of eight bytes a one."""


cdef class Line:
    """Bytes as they are put one after another: what comes after the first 8192 is left out."""

    cdef void copy(self, Span text, Py_ssize_t begin, Py_ssize_t end) noexcept:
        """Add what stands between two places, as it is."""
        begin, end = max(begin, 0), min(end, text.size)
        end = min(end, begin + LONGEST_LINE - self.size)
        if begin < end:
            memcpy(self.letters + self.size, text.start + begin, end - begin)
            self.size += end - begin

    cdef bint unfold(self, Span head, Py_ssize_t begin, Py_ssize_t end) noexcept:
        """Take what stands between two places, with one space where there are any; whether words are encoded in it.

        It must hold no other white space than spaces, tabs and line feeds.
        """
        cdef int c
        cdef Py_ssize_t size = 0
        cdef bint coded = False
        while begin < end and size < LONGEST_LINE:
            c = byte(head, begin)
            begin += 1
            if c > 32:
                if c == 63 and size and self.letters[size - 1] == 61:
                    coded = True
                self.letters[size] = c
                size += 1
            elif size and self.letters[size - 1] != 32:
                self.letters[size] = 32
                size += 1
        self.size = size - 1 if size and self.letters[size - 1] == 32 else size
        return coded


cdef bint is_plain(Span text) noexcept:
    """Whether there are only visible ASCII characters, spaces, tabs and line feeds; most are looked at by eights."""
    cdef uint64_t eight, seen
    cdef Py_ssize_t begin = 0, stop
    while begin < text.size:
        stop = min(begin + 8, text.size)
        if stop == begin + 8:
            memcpy(&eight, text.start + begin, 8)
            seen = (eight - 32 * EACH) | (eight + EACH) | eight  # in none the highest bit, if all are 32 to 126
            if not seen & (128 * EACH):
                begin = stop
                continue
        while begin < stop:
            if not (32 <= byte(text, begin) < 127 or byte(text, begin) == 9 or byte(text, begin) == 10):
                return False
            begin += 1
    return True


cdef Py_ssize_t line_end(Span head, Py_ssize_t begin, Py_ssize_t end) noexcept:
    """Where the line that begins at a place ends, with those that go on with it: they begin with white space."""
    begin = find(head, 10, begin, end)
    while begin + 1 < end and (byte(head, begin + 1) == 32 or byte(head, begin + 1) == 9):
        begin = find(head, 10, begin + 1, end)
    return begin


cdef bint stands_as(Span text, Py_ssize_t at, const char* wanted) noexcept:
    """Whether a text stands at a place, as it is written."""
    cdef Py_ssize_t i = 0
    while wanted[i]:
        if byte(text, at + i) != wanted[i]:
            return False
        i += 1
    return True


cdef bint holds(Span text, Py_ssize_t begin, Py_ssize_t end, const char* wanted) noexcept:
    """Whether a text stands between two places, as it is written; it must be short."""
    cdef Py_ssize_t i
    while begin < end:
        begin = find(text, wanted[0], begin, end)
        i = 0
        while wanted[i] and begin + i < end and byte(text, begin + i) == wanted[i]:
            i += 1
        if not wanted[i]:
            return True
        begin += 1
    return False
