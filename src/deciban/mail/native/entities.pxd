from deciban.mail.native.buffers cimport Buffer
from deciban.mail.native.spans cimport Span
from deciban.mail.native.tag_names cimport TagNames

cdef class Entities:
    cdef TagNames open  # those that need no semicolon at their end
    cdef dict known

    cdef int spell(self, Span span, Py_ssize_t begin, Py_ssize_t end, Buffer into, bint soft) except -1
    cdef Py_ssize_t _spell_one(self, Span span, Py_ssize_t at, Py_ssize_t end, Buffer into) except -1
    cdef bint _may_mean(self, Span span, Py_ssize_t at, Py_ssize_t end) noexcept
    cdef bytes _meaning(self, bytes written)
