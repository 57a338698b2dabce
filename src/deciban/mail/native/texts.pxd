from deciban.mail.native.buffers cimport Buffer
from deciban.mail.native.spans cimport Span
from deciban.mail.native.table cimport Table
from deciban.mail.native.words cimport Words

cdef class Texts:
    cdef Table table
    cdef Words words
    cdef Buffer plain
    cdef int prices[4]
    cdef int shares
    cdef bint strange

    cdef int read(self, bytes text) except -1
    cdef int _read_any(self, str text) except -1
    cdef int _read_links(self, Span text) except -1
    cdef int _read_piece(self, Span text, Py_ssize_t begin, Py_ssize_t end) except -1
    cdef Py_ssize_t _read_sign(self, Span text, Py_ssize_t begin, Py_ssize_t at, Py_ssize_t end) except -1
    cdef int _read_price(self, Span text, int which, const char* sign, Py_ssize_t at, Py_ssize_t end) except -1
    cdef int _read_share(self, Span text, Py_ssize_t begin, Py_ssize_t at) except -1
    cdef Py_ssize_t _read_shouts(self, Span text, Py_ssize_t at, Py_ssize_t end) except -1
