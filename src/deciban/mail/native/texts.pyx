# cython: language_level=3
"""Texts: their links, prices, shares, shouts and words, noted as `deciban.mail.tokens` takes them."""

from deciban.mail.links import LONGEST_LINK as _LONGEST_LINK
from deciban.mail.links import MOST_LINKS as _MOST_LINKS
from deciban.mail.links import TRAILING as _TRAILING
from deciban.mail.native.buffers cimport Buffer
from deciban.mail.native.characters cimport write_plain
from deciban.mail.native.links cimport emit_link
from deciban.mail.native.spans cimport Span, byte, is_alnum, is_digit, span_of, stands
from deciban.mail.native.table cimport Table
from deciban.mail.native.words cimport Words
from deciban.mail.reading import USUAL
from deciban.mail.tokens import without_signs
from deciban.mail.words import MOST_AMOUNTS as _MOST_AMOUNTS
from deciban.mail.words import TO_SMALL, plainer

cdef int LONGEST_LINK = _LONGEST_LINK
cdef int MOST_LINKS = _MOST_LINKS
cdef int MOST_AMOUNTS = _MOST_AMOUNTS
cdef enum:
    LONGEST_PRICE = 15
    LONGEST_SHARE = 9
    LONGEST_SHOUT = 8

cdef unsigned char ENDS_LINK[256]
cdef unsigned char TRAILS[256]
cdef unsigned char SIGNS[256]  # or the first byte of one
for _c in range(256):
    ENDS_LINK[_c] = _c in b" \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f<>\"'\\"
    TRAILS[_c] = _c in _TRAILING.encode()
    SIGNS[_c] = _c in b"$%!?\xc2\xe2"


cdef inline bint is_amount(int c) noexcept:
    return is_digit(c) or c == 46 or c == 44


cdef inline bint is_shout(int c) noexcept:
    return c == 33 or c == 63


cdef Py_ssize_t link_begin(Span text, Py_ssize_t at, Py_ssize_t done) noexcept:
    """Where the link begins that shows itself at a place (by "://" or "www."), not before `done`; -1 for none."""
    cdef int before
    if byte(text, at) != 58:
        before = byte(text, at - 1)
        return -1 if at > 0 and (is_alnum(before) or before in b"_.@/-") else at
    if at - 5 >= done and stands(text, at - 5, b"https"):
        return at - 5
    if at - 4 >= done and stands(text, at - 4, b"http"):
        return at - 4
    return at - 3 if at - 3 >= done and stands(text, at - 3, b"ftp") else -1


cdef Py_ssize_t link_end(Span text, Py_ssize_t at, Py_ssize_t most) noexcept:
    """Where a link ends: before what no link has, or what may be anything, or at the end."""
    most = min(most, text.size)
    while at < most and not ENDS_LINK[byte(text, at)] and byte(text, at) < 128:
        at += 1
    return at


cdef inline bint shows_link(Span text, Py_ssize_t at) noexcept:
    """Whether "://", "www." or "WWW." stands at a place."""
    cdef int c = byte(text, at)
    if c == 58:
        return byte(text, at + 1) == 47 and byte(text, at + 2) == 47
    return (c == 119 or c == 87) and byte(text, at + 1) == c and byte(text, at + 2) == c and byte(text, at + 3) == 46


cdef class Texts:
    """What texts hold. Those in which something is not plain ASCII that should be are read by Python."""

    def __init__(self, Table table):
        self.table = table
        self.words = Words(table)
        self.plain = Buffer()

    cdef int read(self, bytes text) except -1:
        """Note all of a text in UTF-8."""
        cdef int sign
        self.strange = False
        self.shares = 0
        for sign in range(4):
            self.prices[sign] = 0
        self._read_links(span_of(text))
        return self._read_any(text.decode()) if self.strange else 0

    cdef int _read_any(self, str text) except -1:
        """By Python, but for the words."""
        cdef list tokens = []
        cdef bytes rest = plainer(without_signs(text, USUAL, tokens)).encode().translate(TO_SMALL)
        for token in tokens:
            self.table.emit_str(token)
        return self.words.read(span_of(rest))

    cdef int _read_links(self, Span text) except -1:
        """Links, and what stands between them; strange ones, and those that are cut, are not gone past."""
        cdef Py_ssize_t at = 0, done = 0, begin, end
        cdef int links = 0
        while at < text.size:
            begin = link_begin(text, at, done) if links < MOST_LINKS and shows_link(text, at) else -1
            if begin < 0:
                at += 1
                continue
            end = link_end(text, at + 3, begin + LONGEST_LINK)
            if byte(text, begin - 1) > 127 or end < text.size and not ENDS_LINK[byte(text, end)]:
                self.strange = True
                return 0
            self._read_piece(text, done, begin)
            links += 1
            at = done = end
            while end > begin and TRAILS[byte(text, end - 1)]:
                end -= 1
            emit_link(self.table, text, begin, end)
        return self._read_piece(text, done, text.size)

    cdef int _read_piece(self, Span text, Py_ssize_t begin, Py_ssize_t end) except -1:
        """What stands between links."""
        cdef Py_ssize_t at = begin
        while at < end:
            if not SIGNS[byte(text, at)]:
                at += 1
                continue
            at = self._read_sign(text, begin, at, end)
        self.plain.size = 0
        if not write_plain(self.plain, text, begin, end):
            self.strange = True
            return 0
        return self.words.read(self.plain.span())

    cdef Py_ssize_t _read_sign(self, Span text, Py_ssize_t begin, Py_ssize_t at, Py_ssize_t end) except -1:
        """What a sign tells, and where to go on."""
        cdef int sign = byte(text, at)
        if sign == 36:
            self._read_price(text, 0, b"$", at + 1, end)
        elif sign == 37:
            self._read_share(text, begin, at)
        elif sign == 0xC2 and byte(text, at + 1) == 0xA3:
            self._read_price(text, 1, b"\xc2\xa3", at + 2, end)
        elif sign == 0xC2 and byte(text, at + 1) == 0xA5:
            self._read_price(text, 2, b"\xc2\xa5", at + 2, end)
        elif sign == 0xE2 and byte(text, at + 1) == 0x82 and byte(text, at + 2) == 0xAC:
            self._read_price(text, 3, b"\xe2\x82\xac", at + 3, end)
        elif is_shout(sign):
            return self._read_shouts(text, at, end)
        return at + 1

    cdef int _read_price(self, Span text, int which, const char* sign, Py_ssize_t at, Py_ssize_t end) except -1:
        """A price after the sign of a currency, and how many digits it has."""
        cdef Py_ssize_t stop
        cdef int digits = 0
        self.prices[which] += 1
        at += byte(text, at) == 32 or byte(text, at) == 9
        self.strange |= byte(text, at) > 127  # it may be a digit
        end = min(end, at + LONGEST_PRICE)
        if self.prices[which] > MOST_AMOUNTS or at >= end or not is_digit(byte(text, at)):
            return 0
        stop = at
        while stop < end and is_amount(byte(text, stop)):
            stop += 1
        if byte(text, stop) > 127:
            self.strange = True
            return 0
        while not is_digit(byte(text, stop - 1)):
            stop -= 1
        self.table.emit_written(sign, text, at, stop)
        while at < stop and byte(text, at) != 46:
            digits += byte(text, at) != 44
            at += 1
        self.table.token.begin(sign)
        self.table.token.put(58)
        self.table.token.number(digits)
        return self.table.emit_token()

    cdef int _read_share(self, Span text, Py_ssize_t begin, Py_ssize_t at) except -1:
        """A number before a percent sign."""
        cdef Py_ssize_t stop
        self.shares += 1
        if at > begin and (byte(text, at - 1) == 32 or byte(text, at - 1) == 9):
            at -= 1
        stop = at
        while at > begin and stop - at <= LONGEST_SHARE and is_amount(byte(text, at - 1)):
            at -= 1
        if at > begin and byte(text, at - 1) > 127:
            self.strange = True
            return 0
        if self.shares > MOST_AMOUNTS or not 0 < stop - at <= LONGEST_SHARE or not is_digit(byte(text, at)):
            return 0
        while not is_digit(byte(text, stop - 1)):
            stop -= 1
        self.table.token.size = 0
        self.table.token.put_written(text, at, stop)
        self.table.token.put(37)
        return self.table.emit_token()

    cdef Py_ssize_t _read_shouts(self, Span text, Py_ssize_t at, Py_ssize_t end) except -1:
        """What shouts in a run of ! and ?, from the first !! on, and from the first ??; and where it ends."""
        cdef Py_ssize_t stop = at, begin
        cdef int sign
        while stop < end and is_shout(byte(text, stop)):
            stop += 1
        for sign in (33, 63):
            begin = at
            while begin + 1 < stop and (byte(text, begin) != sign or byte(text, begin + 1) != sign):
                begin += 1
            if begin + 1 < stop:
                self.table.emit(text, begin, min(stop, begin + LONGEST_SHOUT))
        return stop
