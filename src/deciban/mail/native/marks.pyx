# cython: language_level=3
"""Marks of a page, gathered until it is known how many there are."""

from deciban.mail.tags import TELLING
from deciban.mail.words import LONGEST_TOKEN

from libc.stdint cimport uint64_t
from deciban.mail.native.spans cimport Span
from deciban.mail.native.table cimport Entry, Table

cdef enum:
    MOST_KEPT = 1 << 14


cdef class Marks:
    """What is telling about one page after another: tags, by their places in `telling`, and all else in words."""

    def __init__(self):
        self.telling = sorted(TELLING)
        self.tokens = [f"html:{name}" for name in self.telling]
        if len(self.telling) > 64:
            raise ValueError(f"{len(self.telling)} names of tags are telling, and there are 64 bits")
        self.words = Table()

    cdef int begin_page(self) except -1:
        """Forget what the page before had."""
        if self.words.n > MOST_KEPT:
            self.words = Table()
        self.words.n_said, self.told = 0, 0
        self.words.begin_message()
        return 0

    cdef int add(self, const char* mark) except -1:
        return self.words.emit_word(mark)

    cdef int add_colour(self, const char* prefix, int colour) except -1:
        """A colour in six digits, if it is known."""
        cdef int shift, digit
        if colour < 0:
            return 0
        self.words.token.begin(prefix)
        for shift in range(20, -1, -4):
            digit = colour >> shift & 15
            self.words.token.put(digit + 48 if digit < 10 else digit + 87)
        return self.words.emit_token()

    cdef int add_small(self, const char* prefix, Span span, int begin, int end) except -1:
        """What stands in some bytes, in small letters."""
        return self.words.emit_small(prefix, span, begin, end)

    cdef int add_written(self, const char* prefix, Span span, int begin, int end) except -1:
        """What stands in some bytes, as it is written."""
        return self.words.emit_written(prefix, span, begin, end)

    cdef int add_str(self, str mark) except -1:
        return self.words.emit_str(f"html:{mark}"[:LONGEST_TOKEN])

    cdef int count(self) noexcept:
        """How many there are, or some more: what Python read may be counted twice."""
        cdef uint64_t told = self.told
        cdef int n = self.words.n_said
        while told:
            told &= told - 1
            n += 1
        return n

    cdef int emit(self, Table table) except -1:
        """Note all that the page has."""
        cdef Span letters
        cdef Entry entry
        cdef size_t i
        cdef Py_ssize_t place
        for place in range(len(self.tokens)):
            if self.tells(place):
                table.emit_str(self.tokens[place])
        letters.start, letters.size = self.words.letters, self.words.used
        for i in range(self.words.n_said):
            entry = self.words.entries[self.words.said[i]]
            table.emit(letters, entry.start, entry.start + entry.size)
        return 0
