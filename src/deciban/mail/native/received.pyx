# cython: language_level=3
"""Hops of a message, as `deciban.mail.received` takes them."""

from deciban.mail.native.hosts cimport emit_host, is_address
from deciban.mail.native.lines cimport holds, stands_as
from deciban.mail.native.spans cimport Span, byte, is_digit, is_letter, small, stands
from deciban.mail.native.table cimport Table
from deciban.mail.received import BETWEEN as _BETWEEN
from deciban.mail.received import LONGEST_HOP as _LONGEST_HOP
from deciban.mail.received import MOST_NAMED as _MOST_NAMED

cdef int LONGEST_HOP = _LONGEST_HOP
cdef enum:
    MOST_NAMED = 4
    MOST_PIECES = 4
    LONGEST_RECEIVER = 60
    LONGEST_SENDER = 100
    FROM = 5
    BY = 4
if _MOST_NAMED != MOST_NAMED:
    raise ImportError(f"a hop names at most {_MOST_NAMED} hosts, not {MOST_NAMED}")

cdef unsigned char PARTS[256]
for _c in range(256):
    PARTS[_c] = _c <= 32 or _c in _BETWEEN


cdef struct Places:
    Py_ssize_t begins[MOST_NAMED]
    Py_ssize_t ends[MOST_NAMED]
    int n


cdef inline void add(Places* places, Py_ssize_t begin, Py_ssize_t end) noexcept:
    """One more place, unless there are so many already."""
    if places.n < MOST_NAMED:
        places.begins[places.n] = begin
        places.ends[places.n] = end
        places.n += 1


cdef int take_hop(Table table, Span hop) except -1:
    """Note the hosts and networks of a hop; 1 if it leads from one place to another, 0 if it is within one."""
    cdef Places hosts, addresses
    cdef Py_ssize_t size = min(hop.size, <Py_ssize_t> LONGEST_HOP), end = 0
    cdef int i
    hosts.n = addresses.n = 0
    if not stands(hop, 0, b"from "):
        return 0
    while end < size and not (byte(hop, end) == 32 and end + BY <= size and stands_as(hop, end, b" by ")):
        end += 1
    if end < FROM or holds(hop, 0, end, b"localhost"):
        return 0
    if _is_fetched(hop, end + BY, min(size, end + BY + LONGEST_RECEIVER)):
        return 0
    _find_hosts(hop, FROM, end, &hosts, &addresses)
    for i in range(addresses.n):
        if _is_own(hop, addresses.begins[i]):
            return 0
    if holds(hop, FROM, end, b"[::1]"):
        return 0
    for i in range(hosts.n):
        emit_host(table, b"received:", hop, hosts.begins[i], hosts.ends[i], MOST_PIECES)
    for i in range(addresses.n):
        emit_host(table, b"received:", hop, addresses.begins[i], addresses.ends[i], MOST_PIECES)
    return _take_greeting(table, hop, end) or hosts.n + addresses.n > 0


cdef bint _is_fetched(Span hop, Py_ssize_t begin, Py_ssize_t end) noexcept:
    """Whether a hop is no delivery: a mailbox was emptied, or a machine spoke to itself."""
    cdef int c
    for begin in range(begin, end):
        c = small(byte(hop, begin))
        if c == 108 and begin + 9 <= end and stands(hop, begin, b"localhost"):
            return True
        if c == 102 and begin + 9 <= end and stands(hop, begin, b"fetchmail"):
            return True
        if c == 119 and begin + 9 <= end and (
            stands(hop, begin, b"with imap") or stands(hop, begin, b"with pop3")
        ):
            return True
    return False


cdef void _find_hosts(Span hop, Py_ssize_t at, Py_ssize_t end, Places* hosts, Places* addresses) noexcept:
    """The first hosts, and the first addresses, among what stands between brackets and spaces."""
    cdef Py_ssize_t begin
    cdef bint dotted, named
    while at < end:
        begin = at
        dotted = named = False
        while at < end and not PARTS[byte(hop, at)]:
            if byte(hop, at) == 46:
                dotted = named = True
            elif not is_letter(byte(hop, at)):
                named = False
            at += 1
        if dotted and named and byte(hop, at - 1) != 46:
            add(hosts, begin, at)
        elif dotted and is_address(hop, begin, at):
            add(addresses, begin, at)
        at += 1


cdef bint _is_own(Span hop, Py_ssize_t begin) noexcept:
    """Whether an address is one of those that everybody may use at home."""
    cdef int tens
    if stands(hop, begin, b"127.") or stands(hop, begin, b"10.") or stands(hop, begin, b"192.168."):
        return True
    if not stands(hop, begin, b"172.") or byte(hop, begin + 6) != 46 or not is_digit(byte(hop, begin + 5)):
        return False
    tens = 10 * (byte(hop, begin + 4) - 48) + byte(hop, begin + 5) - 48
    return 16 <= tens < 32


cdef int _take_greeting(Table table, Span hop, Py_ssize_t end) except -1:
    """What the sending machine calls itself, and whether the other one could find it; 1 if this tells something."""
    cdef Py_ssize_t begin = FROM, stop = FROM
    cdef bint dotted = False, told = False
    while stop < end and byte(hop, stop) != 32:
        stop += 1
    while begin < stop and byte(hop, begin) in b"[]()":
        begin += 1
    while begin < stop and byte(hop, stop - 1) in b"[]()":
        stop -= 1
    if is_address(hop, begin, stop):
        told = True
        table.emit_word(b"received:helo:numeric")
    else:
        for begin in range(begin, stop):
            dotted = dotted or byte(hop, begin) == 46
        if not dotted:
            told = True
            table.emit_word(b"received:helo:bare")
    if holds(hop, FROM, min(end, <Py_ssize_t> (FROM + LONGEST_SENDER)), b"unknown"):
        told = True
        table.emit_word(b"received:unknown")
    return told
