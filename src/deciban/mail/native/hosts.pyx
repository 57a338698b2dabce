# cython: language_level=3
"""Hosts in pieces, as `deciban.mail.links.host_pieces` gives them."""

from deciban.mail.links import LONGEST_HOST as _LONGEST_HOST
from deciban.mail.native.spans cimport Span, byte, find, is_digit, is_host, small
from deciban.mail.native.table cimport Table

cdef enum:
    LONGEST_HOST = 40
    MOST_PIECES = 4
    DOT = 46
if _LONGEST_HOST != LONGEST_HOST:
    raise ImportError(f"a host has at most {_LONGEST_HOST} letters, not {LONGEST_HOST}")


cdef bint is_address(Span span, Py_ssize_t begin, Py_ssize_t end) noexcept:
    """Whether bytes are the four numbers of a network address, and nothing else."""
    cdef int numbers = 0, digits
    while numbers < 4:
        digits = 0
        while begin < end and is_digit(byte(span, begin)):
            begin += 1
            digits += 1
        numbers += 1
        if not 0 < digits < 4:
            return False
        if numbers < 4:
            if begin >= end or byte(span, begin) != DOT:
                return False
            begin += 1
    return begin == end


cdef int emit_host(Table table, const char* prefix, Span span, Py_ssize_t begin, Py_ssize_t end, int most) except -1:
    """A host and the domains above it, or the networks of an address: so many of them at most, after a prefix."""
    cdef unsigned char letters[LONGEST_HOST]
    cdef Span host = _cleaned(span, begin, end, letters)
    if _is_numeric(host):
        return _emit_networks(table, prefix, host, most)
    return _emit_domains(table, prefix, host, most)


cdef Span _cleaned(Span span, Py_ssize_t begin, Py_ssize_t end, unsigned char* letters) noexcept:
    """The last forty letters of a host, small, without dots around it; they stand at the end of `letters`."""
    cdef Span host
    cdef int first = LONGEST_HOST, c
    cdef bint more = False
    while end > begin:
        end -= 1
        c = byte(span, end)
        if not is_host(c) or (c == DOT and first == LONGEST_HOST):
            continue
        if first == 0:
            more = more or c != DOT
            continue
        first -= 1
        letters[first] = small(c)
    while not more and first < LONGEST_HOST and letters[first] == DOT:
        first += 1
    host.start, host.size = letters + first, LONGEST_HOST - first
    return host


cdef bint _is_numeric(Span host) noexcept:
    """Whether a host is four numbers, however long, with dots between them."""
    cdef int dots = 0
    cdef Py_ssize_t i
    for i in range(host.size):
        if byte(host, i) == DOT:
            dots += 1
            if i == 0 or byte(host, i - 1) == DOT:
                return False
        elif not is_digit(byte(host, i)):
            return False
    return dots == 3


cdef int _emit_networks(Table table, const char* prefix, Span host, int most) except -1:
    cdef Py_ssize_t end = host.size
    cdef int n
    for n in range(min(most, 3)):
        table.emit_written(prefix, host, 0, end)
        end -= 1
        while end > 0 and byte(host, end) != DOT:
            end -= 1
    return 0


cdef int _emit_domains(Table table, const char* prefix, Span host, int most) except -1:
    """Of the last pieces of a host each that is not empty, with all after it."""
    cdef Py_ssize_t at = host.size
    cdef int pieces = 0
    while at > 0:
        pieces += byte(host, at - 1) == DOT
        if pieces == MOST_PIECES:
            break
        at -= 1
    while at < host.size and most > 0:
        if byte(host, at) != DOT:
            table.emit_written(prefix, host, at, host.size)
            most -= 1
        at = find(host, DOT, at, host.size) + 1
    return 0
