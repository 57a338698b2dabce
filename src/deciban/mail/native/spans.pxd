"""Bytes with their bounds: every byte of a stranger is read through `byte`, which cannot be led outside them."""

from libc.string cimport memchr

cdef struct Span:
    const unsigned char* start
    Py_ssize_t size

cdef inline Span span_of(bytes data) noexcept:
    """The bytes of an object; it must be kept as long as they are looked at."""
    cdef Span all
    all.start = <const unsigned char*> data
    all.size = len(data)
    return all

cdef inline int byte(Span span, Py_ssize_t i) noexcept nogil:
    """The byte at a place; 0 beyond the end and before the start."""
    return span.start[i] if 0 <= i < span.size else 0

cdef inline Py_ssize_t find(Span span, int wanted, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    """Where a byte stands from one place up to another; that other one if it does not."""
    begin, end = max(begin, 0), min(end, span.size)
    if begin >= end:
        return end
    cdef const unsigned char* found = <const unsigned char*> memchr(span.start + begin, wanted, end - begin)
    return end if found == NULL else found - span.start

cdef inline bint is_digit(int c) noexcept nogil:
    return 48 <= c <= 57

cdef inline bint is_letter(int c) noexcept nogil:
    return 97 <= (c | 32) <= 122

cdef inline bint is_alnum(int c) noexcept nogil:
    return is_digit(c) or is_letter(c)

cdef inline bint is_word(int c) noexcept nogil:
    """What \w is, of ASCII."""
    return is_alnum(c) or c == 95

cdef inline bint is_host(int c) noexcept nogil:
    """What names of hosts are written with, of ASCII."""
    return is_word(c) or c == 45 or c == 46

cdef inline bint is_space(int c) noexcept nogil:
    r"""What \s is, of ASCII."""
    return c == 32 or 9 <= c <= 13 or 28 <= c <= 31

cdef inline int small(int c) noexcept nogil:
    """A capital as a small letter, all else as it is."""
    return c + 32 if 65 <= c <= 90 else c

cdef inline bint stands(Span span, Py_ssize_t at, const char* word) noexcept nogil:
    """Whether a word in small letters stands at a place, in whatever letters."""
    cdef Py_ssize_t i = 0
    while word[i]:
        if small(byte(span, at + i)) != word[i]:
            return False
        i += 1
    return True
