# cython: language_level=3
"""Words of a text, noted as `deciban.mail.words.Cleaner` cleans them."""

from deciban.mail.native.cleaned cimport Word, clean, put_word
from deciban.mail.native.spans cimport Span, byte, is_alnum
from deciban.mail.native.table cimport Table
from deciban.mail.reading import USUAL
from deciban.mail.tokens import cleaner_of
from deciban.mail.words import LONGEST_RUN as _LONGEST_RUN

cdef enum:
    SPACE = 32
    MOST_KNOWN = 1 << 16

cdef int SHORTEST = USUAL.shortest
cdef int LONGEST = USUAL.longest
cdef int LONGEST_RUN = _LONGEST_RUN

cdef enum:
    PLAIN = 1
    INSIDE = 2
    OTHER = 4

cdef unsigned char KINDS[256]
for _c in range(256):
    KINDS[_c] = OTHER if _c > 127 else PLAIN if is_alnum(_c) else INSIDE


cdef class Words:
    """The words of texts that `deciban.mail.words.TO_SMALL` has translated: small letters, and spaces between."""

    def __init__(self, Table table):
        self.table = table
        self.clean = cleaner_of(USUAL)
        self.others = {}

    cdef int read(self, Span text) except -1:
        """Note the words of a text."""
        cdef Py_ssize_t begin = 0, first
        cdef int kinds, c
        while begin < text.size:
            first = begin
            kinds = 0
            c = byte(text, begin)
            while c != SPACE and begin < text.size:
                kinds |= KINDS[c]
                begin += 1
                c = byte(text, begin)
            if kinds == PLAIN and SHORTEST <= begin - first <= LONGEST:
                self.table.emit(text, first, begin)
            elif kinds and begin - first <= LONGEST_RUN:
                self._read_other(text, first, begin) if kinds & OTHER else self._read_signed(text, first, begin)
            begin += 1
        return 0

    cdef int _read_signed(self, Span text, Py_ssize_t begin, Py_ssize_t end) except -1:
        """A word of ASCII with signs in it or around it, or a long or a short one."""
        cdef Word word = Word(begin, end, False)
        if not clean(text, &word):
            return 0
        self.table.token.size = 0
        put_word(self.table.token, text, word)
        return self.table.emit_token()

    cdef int _read_other(self, Span text, Py_ssize_t begin, Py_ssize_t end) except -1:
        """A word with letters beyond ASCII: what it becomes is remembered."""
        cdef bytes word = text.start[begin:end]
        number = self.others.get(word)
        if number is None:
            if len(self.others) >= MOST_KNOWN:
                self.others.clear()
            number = self.others[word] = self.table.number_of(self.clean.cleaned(word))
        return self.table.emit_number(number)
