# cython: language_level=3
"""Characters beyond ASCII: which of them part words, are not seen, or stand where nothing parts words."""

from libc.string cimport memset
from deciban.mail.native.buffers cimport Buffer
from deciban.mail.native.spans cimport Span, byte
from deciban.mail.words import RUNNING, SEPARATING, TO_SMALL, WIDTHLESS

cdef enum:
    KEPT = 0
    SEPARATES = 1
    UNSEEN = 2
    RUNS = 3
    APOSTROPHE = 0x2019
    N_KINDS = 1 << 18

cdef unsigned char SMALL[128]
for _c in range(128):
    SMALL[_c] = TO_SMALL[_c]

cdef unsigned char KINDS[N_KINDS]


cdef int _mark(str ranges, int kind) except -1:
    """Characters of ranges, written as in a regular expression, are of a kind."""
    cdef Py_ssize_t i = 0
    cdef int first, last
    while i < len(ranges):
        first = last = ord(ranges[i])
        if ranges[i + 1 : i + 2] == "-":
            i += 2
            last = ord(ranges[i])
        if last < N_KINDS:
            memset(KINDS + first, kind, last - first + 1)
        i += 1
    return 0


_mark(SEPARATING, SEPARATES)
_mark(WIDTHLESS, UNSEEN)
_mark(RUNNING, RUNS)


cdef bint write_plain(Buffer plain, Span text, Py_ssize_t begin, Py_ssize_t end) except -1:
    """Write what stands between two places of a text in UTF-8 as `plainer` and TO_SMALL make it, or return False.

    That is if some of it is of a script that puts no space between words.
    """
    cdef int c, code, size
    end = min(end, text.size)
    while begin < end:
        c = byte(text, begin)
        if c < 128:
            plain.put(SMALL[c])
            begin += 1
            continue
        size = 2 if c < 0xE0 else 3 if c < 0xF0 else 4
        code = _code(text, begin, c, size)
        if code == APOSTROPHE:
            plain.put(39)
        elif code >= N_KINDS or KINDS[code] == KEPT:
            plain.add(text, begin, begin + size)
        elif KINDS[code] == SEPARATES:
            plain.put(32)
        elif KINDS[code] == RUNS:
            return False
        begin += size
    return True


cdef inline int _code(Span text, Py_ssize_t at, int lead, int size) noexcept:
    """The number of a character of so many bytes, which is below 2^21 whatever they are."""
    cdef int code = lead & (0x7F >> size), i
    for i in range(1, size):
        code = code << 6 | (byte(text, at + i) & 0x3F)
    return code
