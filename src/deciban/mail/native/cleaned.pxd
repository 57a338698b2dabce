from deciban.mail.native.spans cimport Span
from deciban.mail.native.table cimport Token

cdef struct Word:
    Py_ssize_t begin
    Py_ssize_t end
    bint long

cdef Py_ssize_t next_word(Span text, Py_ssize_t at, Py_ssize_t end, Word* word) noexcept
cdef bint clean(Span text, Word* word) noexcept
cdef void put_word(Token token, Span text, Word word) noexcept
