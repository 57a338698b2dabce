from deciban.mail.native.spans cimport Span
from deciban.mail.native.table cimport Table

cdef bint is_address(Span span, Py_ssize_t begin, Py_ssize_t end) noexcept
cdef int emit_host(Table table, const char* prefix, Span span, Py_ssize_t begin, Py_ssize_t end, int most) except -1
