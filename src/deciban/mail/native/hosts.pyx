# cython: language_level=3
"""Hosts in pieces, as `deciban.mail.links.host_pieces` gives them."""

from deciban.mail.native.spans cimport Span, byte, is_digit, is_word, small
from deciban.mail.native.table cimport Table

cdef enum:
    LONGEST_HOST = 40


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
            if begin >= end or byte(span, begin) != 46:
                return False
            begin += 1
    return begin == end


cdef int emit_host(Table table, const char* prefix, Span span, Py_ssize_t begin, Py_ssize_t end, int most) except -1:
    """A host and the domains above it, or the networks of an address: so many of them at most, after a prefix."""
    cdef unsigned char host[LONGEST_HOST]
    cdef int first = LONGEST_HOST, c, dots = 0, i, n, stop
    cdef bint numeric = True, more = False
    while end > begin:  # from its end, without dots there
        end -= 1
        c = byte(span, end)
        if not (is_word(c) or c == 45 or c == 46) or (c == 46 and first == LONGEST_HOST):
            continue
        if first == 0:
            more = more or c != 46
            continue
        first -= 1
        host[first] = small(c)
    while not more and first < LONGEST_HOST and host[first] == 46:
        first += 1
    for i in range(first, LONGEST_HOST):
        if host[i] == 46:
            dots += 1
            numeric = numeric and i > first and host[i - 1] != 46
        elif not is_digit(host[i]):
            numeric = False
    if first == LONGEST_HOST:
        return 0
    if numeric and dots == 3:
        _emit_networks(table, prefix, host, first, most)
        return 0
    n = dots + 1
    i = first
    while n > 4:
        while host[i] != 46:
            i += 1
        i += 1
        n -= 1
    while i < LONGEST_HOST and most > 0:
        if host[i] != 46:
            _emit_piece(table, prefix, host, i, LONGEST_HOST)
            most -= 1
        while i < LONGEST_HOST and host[i] != 46:
            i += 1
        i += 1


cdef int _emit_networks(Table table, const char* prefix, const unsigned char* host, int first, int most) except -1:
    cdef int end = LONGEST_HOST, n
    for n in range(min(most, 3)):
        _emit_piece(table, prefix, host, first, end)
        end -= 1
        while host[end] != 46:
            end -= 1


cdef int _emit_piece(Table table, const char* prefix, const unsigned char* host, int begin, int end) except -1:
    cdef int i
    table.token.begin(prefix)
    for i in range(begin, end):
        table.token.put(host[i])
    table.emit_token()
