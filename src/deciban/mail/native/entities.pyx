# cython: language_level=3
"""Text with its entities read, as `html.unescape` reads them; those that are not the commonest by itself."""

from html import unescape
from html.entities import html5

from libc.stdint cimport uint64_t
from deciban.mail.native.buffers cimport Buffer
from deciban.mail.native.spans cimport Span, byte, find, span_of, stands
from deciban.mail.native.tag_names cimport TagNames, name_with

cdef enum:
    MOST_KNOWN = 1 << 12
    LONGEST_KNOWN = 12
    LONGEST_OPEN = 6
    AND = 38
    SHARP = 35
    SEMICOLON = 59


cdef class Entities:
    """Entities of HTML, and what they stand for."""

    def __init__(self):
        names = {name.lower() for name in html5 if not name.endswith(";")}
        if max(map(len, names)) > LONGEST_OPEN:
            raise ValueError("longer names than six letters need no semicolon")
        self.open = TagNames(dict.fromkeys(names, 1))
        self.known = {}

    cdef int spell(self, Span span, Py_ssize_t begin, Py_ssize_t end, Buffer into, bint soft) except -1:
        """Write a text with its entities read; hard spaces become soft ones, if so wished."""
        cdef Py_ssize_t at, after
        begin, end = max(begin, 0), min(end, span.size)
        while begin < end:
            at = find(span, AND, begin, end)
            into.add(span, begin, at)
            if at >= end:
                return 0
            after = _after_hard_space(span, at, end) if soft else at
            if after > at:
                into.put(32)
            else:
                after = self._spell_one(span, at, end, into)
            begin = after

    cdef Py_ssize_t _spell_one(self, Span span, Py_ssize_t at, Py_ssize_t end, Buffer into) except -1:
        """Write what an entity stands for; where it ends."""
        cdef Py_ssize_t after = at + 1
        cdef bytes meaning
        if after < end and byte(span, after) == SHARP:
            after += 1
        while after < end and not _ends_name(byte(span, after)):
            after += 1
        if after < end and byte(span, after) == SEMICOLON:
            after += 1
        if after == at + 1:
            into.put(AND)
            return after
        if after == at + 5 and _is_and(span, at):
            into.put(AND)
            return after
        if not self._may_mean(span, at, after):
            into.add(span, at, after)
            return after
        meaning = self._meaning(span.start[at:after])
        into.add(span_of(meaning), 0, len(meaning))
        return after

    cdef bint _may_mean(self, Span span, Py_ssize_t at, Py_ssize_t end) noexcept:
        """Whether it ends as an entity does, or is a number, or begins with a name that needs no semicolon."""
        cdef uint64_t code = 0
        cdef Py_ssize_t i
        if byte(span, end - 1) == SEMICOLON or byte(span, at + 1) == SHARP:
            return True
        for i in range(at + 1, min(end, at + 1 + LONGEST_OPEN)):
            code = name_with(code, byte(span, i))
            if self.open.number(code) >= 0:
                return True
        return False

    cdef bytes _meaning(self, bytes written):
        cdef bytes meaning = self.known.get(written)
        if meaning is None:
            meaning = unescape(written.decode("utf-8", "replace")).encode("utf-8", "replace")
            if len(written) <= LONGEST_KNOWN:
                if len(self.known) >= MOST_KNOWN:
                    self.known.clear()
                self.known[written] = meaning
        return meaning


cdef Py_ssize_t _after_hard_space(Span span, Py_ssize_t at, Py_ssize_t end) noexcept:
    """Where a hard space that begins at a place ends; that place if there is none."""
    if at + 5 > end or not (stands(span, at, "&nbsp") or stands(span, at, "&#160")):
        return at
    return at + 6 if at + 5 < end and byte(span, at + 5) == SEMICOLON else at + 5


cdef inline bint _ends_name(int c) noexcept nogil:
    return c == AND or c == SEMICOLON or c == SHARP or c == 32 or c == 60 or c == 9 or c == 10 or c == 12


cdef inline bint _is_and(Span span, Py_ssize_t at) noexcept:
    """Whether &amp; stands there, in small letters: others mean other things."""
    return (
        byte(span, at + 1) == 97 and byte(span, at + 2) == 109
        and byte(span, at + 3) == 112 and byte(span, at + 4) == SEMICOLON
    )
