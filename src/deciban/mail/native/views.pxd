from libc.stdint cimport uint64_t
from deciban.mail.native.spans cimport Span
from deciban.mail.native.tags cimport Tag, Tags

cdef enum:
    DEEPEST = 100

cdef class View:
    cdef Tags tags
    cdef Span span
    cdef object hiding
    cdef uint64_t body
    cdef bint hides
    cdef Tag hider
    cdef Tag ground_tags[DEEPEST]
    cdef int depth, n_grounds, painted

    cdef int begin_page(self, Span span, object hiding) except -1
    cdef int pass_by(self, Tag* tag) except -1
    cdef int _open(self, Tag* tag) except -1
    cdef bint _is_hidden(self, Tag* tag) except -1
    cdef bint _is_named(self, Tag* tag) except -1
    cdef bint _is_painted(self) except -1
    cdef int _close(self, Tag* tag) noexcept
    cdef bint _same(self, Tag* one, Tag* other) noexcept
    cdef str _text(self, int begin, int end)
