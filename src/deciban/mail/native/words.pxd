from deciban.mail.native.spans cimport Span
from deciban.mail.native.table cimport Table

cdef class Words:
    cdef Table table
    cdef object clean
    cdef dict others

    cdef int read(self, Span text) except -1
    cdef int _read_signed(self, Span text, Py_ssize_t begin, Py_ssize_t end) except -1
    cdef int _read_other(self, Span text, Py_ssize_t begin, Py_ssize_t end) except -1
