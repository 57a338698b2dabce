# cython: language_level=3
"""Digests of messages, the same as `deciban.mail.digest` gives."""

from hashlib import blake2b

from libc.stdint cimport uint32_t
from libc.string cimport memset

from deciban.mail.digest import DIGEST_BYTES, LEFT_OUT, LEFT_OUT_STARTS, in_lines
from deciban.mail.digest import digest_of as digest_by_python
from deciban.mail.native.lines cimport LONGEST_LINE, Line, line_end, stands_as
from deciban.mail.native.spans cimport Span, byte, find, span_of
from deciban.mail.native.table cimport LONGEST, Table

cdef enum:
    LONGEST_MESSAGE = 1 << 20
    MOST_NAMES = 2000
    NOT_ASKED = 0
    LASTS = 1
    CHANGES = 2
    TOO_LONG = 3

cdef Table names = Table()
cdef unsigned char counts[MOST_NAMES]
"""Whether headers of these names count, by their numbers, as far as that was asked before."""


cdef bytes digest_of(bytes raw):
    """16 bytes that tell a message from all others, whatever stores and filters did to it."""
    cdef Span all
    cdef Py_ssize_t begin, end, body
    if len(raw) > LONGEST_MESSAGE:
        return digest_by_python(raw)
    raw = in_lines(raw) if b"\r" in raw else raw
    all = span_of(raw)
    begin = _after_envelope(all)
    end = all.size
    while end > begin and is_white(byte(all, end - 1)):
        end -= 1
    body = _blank_line(all, begin, end)
    cdef Line lasting = Line()
    if _quotes_from(all, body, end) or not _keep_lasting(lasting, all, begin, body):
        return digest_by_python(raw)
    hashed = blake2b(lasting.letters[: lasting.size], digest_size=DIGEST_BYTES)
    hashed.update(memoryview(raw)[body:end])
    return hashed.digest()


cdef inline bint is_white(int c) noexcept:
    r"""What \s is, of bytes: less than of text."""
    return c == 32 or 9 <= c <= 13


cdef Py_ssize_t _after_envelope(Span all) noexcept:
    """Where a message begins: after white space, and a line of a mailbox that tells who sent it."""
    cdef Py_ssize_t begin = 0, at
    while begin < all.size and is_white(byte(all, begin)):
        begin += 1
    at = begin + (byte(all, begin) == 62)
    if not stands_as(all, at, b"From "):
        return begin
    at = find(all, 10, at, all.size)
    return at + 1 if at < all.size else begin


cdef Py_ssize_t _blank_line(Span all, Py_ssize_t at, Py_ssize_t end) noexcept:
    """Where the first blank line begins; the end if there is none."""
    while at < end:
        at = find(all, 10, at, end) + 1
        if at < end and byte(all, at) == 10:
            return at
    return end


cdef bint _quotes_from(Span all, Py_ssize_t at, Py_ssize_t end) noexcept:
    """Whether a line after the first begins with signs of quoting and "From ", as mailboxes write it."""
    while at < end:
        at = find(all, 10, at, end) + 1
        if at >= end or byte(all, at) != 62:
            continue
        while at < end and byte(all, at) == 62:
            at += 1
        if stands_as(all, at, b"From "):
            return True
    return False


cdef bint _keep_lasting(Line lasting, Span all, Py_ssize_t begin, Py_ssize_t end) except -1:
    """Put the headers together that no store and no filter touches; False if that cannot be done here."""
    cdef Py_ssize_t stop
    cdef int how
    while begin < end:
        stop = line_end(all, begin, end)
        how = _what_becomes_of(all, begin, stop) if stop > begin else CHANGES
        if how == TOO_LONG:
            return False
        if how == LASTS:
            if lasting.size:
                lasting.put(10)
            _keep(lasting, all, begin, stop)
        begin = stop + 1
    return lasting.size < LONGEST_LINE  # else something may have been left out


cdef void _keep(Line lasting, Span all, Py_ssize_t begin, Py_ssize_t end) noexcept:
    """A line without its folds: a line feed and the space after it are one space."""
    cdef Py_ssize_t stop = find(all, 10, begin, end)
    while stop < end:
        lasting.copy(all, begin, stop)
        lasting.put(32)
        begin = stop + 2
        stop = find(all, 10, begin, end)
    lasting.copy(all, begin, end)


cdef int _what_becomes_of(Span all, Py_ssize_t begin, Py_ssize_t end) except -1:
    """Whether the header that begins at a place lasts or changes, unless its name is too long to tell."""
    cdef Table met = _names()
    cdef Py_ssize_t at = begin
    cdef uint32_t number
    cdef int how
    met.token.size = 0
    while at < end and byte(all, at) != 58:
        if byte(all, at) == 10 or at - begin >= LONGEST:
            return TOO_LONG
        met.token.put(byte(all, at))
        at += 1
    number = met._number(met.token.letters, met.token.size)
    if number >= MOST_NAMES:
        return TOO_LONG
    how = counts[number]
    if how == NOT_ASKED:
        how = _asked(met.token.letters[: met.token.size])
        if met is names:
            counts[number] = how
    return how


cdef Table _names():
    """The names that were met; when there are too many all are forgotten."""
    global names
    if names.n >= MOST_NAMES:
        names = Table()
        memset(counts, NOT_ASKED, MOST_NAMES)
    return names


cdef int _asked(bytes name) except -1:
    name = name.rstrip().lower()
    return CHANGES if name in LEFT_OUT or name.startswith(LEFT_OUT_STARTS) else LASTS
