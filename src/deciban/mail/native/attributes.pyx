# cython: language_level=3
"""Attributes of a tag, found where `deciban.mail.tags.ATTRIBUTE` finds them."""

from deciban.mail.tags import LONGEST_TAG as _LONGEST_TAG

from libc.stdint cimport uint64_t
from deciban.mail.native.marks cimport Marks
from deciban.mail.native.spans cimport Span, byte, find, is_letter, is_space, is_word, small
from deciban.mail.native.tag_names cimport TagNames, name_with

cdef int LONGEST_TAG = _LONGEST_TAG
cdef enum:
    LONGEST_ALT = 200
    LONGEST_EVENT = 20
    AWKWARD = -1

GIVEN = "href src action background style color bgcolor alt class id size width height".split()
"""In the order of their numbers."""


cdef class Attributes:
    """The attributes of one tag after another: where their values stand."""

    def __init__(self, Marks marks):
        self.marks = marks
        self.names = TagNames({name: place for place, name in enumerate(GIVEN)})

    cdef bint read(self, Span span, int begin, int end) except -1:
        """Find the values that mean something, and mark events; whether that could be done."""
        cdef int i, c
        for i in range(N_GIVEN):
            self.given[i].begin, self.given[i].end = 0, -1
        if end - begin > LONGEST_TAG:
            return False
        i = begin
        while i < end:
            c = byte(span, i)
            if is_letter(c) or c == 45:
                i = self._read_one(span, begin, i, end)
                if i == AWKWARD:
                    return False
            elif c < 128:
                i += 1
            else:
                return False
        return not self._are_awkward(span)

    cdef int _read_one(self, Span span, int begin, int at, int end) except -2:
        """The attribute whose name begins at a place, if it has a value: where to go on."""
        cdef int name = at, c = byte(span, at), after
        cdef uint64_t code = 0
        cdef Range value
        while at < end and (is_letter(c) or c == 45):
            code = name_with(code, c)
            at += 1
            c = byte(span, at)
        if name > begin and is_word(byte(span, name - 1)):  # there is no 'y' in 'x1y=z'
            return at
        after = _find_value(span, at, end, &value)
        if after > 0:
            self._give(span, name, at, code, value)
        return after if after else at

    cdef int _give(self, Span span, int begin, int end, uint64_t code, Range value) except -1:
        """One attribute: of those of one name the first counts."""
        cdef int known = self.names.number(code)
        if known >= 0:
            if not self.has(known):
                self.given[known] = value
        elif end - begin > 1 and small(byte(span, begin)) == 111 and small(byte(span, begin + 1)) == 110:
            self.marks.add_small("html:event:", span, begin, min(end, begin + LONGEST_EVENT))
        return 0

    cdef bint _are_awkward(self, Span span) noexcept:
        """Whether wide characters stand where they would have to be counted, or spaces where there are none."""
        cdef int which
        cdef Range alt = self.given[ALT]
        for which in range(HREF, BACKGROUND + 1):  # all that lead somewhere
            if _has_wide(span, self.given[which]):
                return True
        if _has_wide(span, self.given[SIZE]) or _has_space(span, self.given[SIZE]):
            return True
        return alt.end - alt.begin > LONGEST_ALT and _has_wide(span, alt)


cdef int _find_value(Span span, int at, int end, Range* value) noexcept:
    """The value of an attribute whose name ends at a place: where that ends; 0 if there is none, or AWKWARD."""
    at = _after_spaces(span, at, end)
    if at >= end or byte(span, at) != 61:
        return 0
    at = _after_spaces(span, at + 1, end)
    if at >= end:
        return 0
    if byte(span, at) == 34 or byte(span, at) == 39:
        value.begin = at + 1
        value.end = find(span, byte(span, at), at + 1, end)
        return min(value.end + 1, end)
    value.begin = at
    while at < end and not (is_space(byte(span, at)) or byte(span, at) == 34 or byte(span, at) == 39):
        if byte(span, at) >= 128:
            return AWKWARD
        at += 1
    value.end = at
    return at


cdef inline int _after_spaces(Span span, int at, int end) noexcept:
    while at < end and is_space(byte(span, at)):
        at += 1
    return at


cdef bint _has_wide(Span span, Range value) noexcept:
    cdef int i
    for i in range(value.begin, value.end):
        if byte(span, i) >= 128:
            return True
    return False


cdef bint _has_space(Span span, Range value) noexcept:
    cdef int i
    for i in range(value.begin, value.end):
        if is_space(byte(span, i)):
            return True
    return False
