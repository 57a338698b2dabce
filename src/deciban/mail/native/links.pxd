from deciban.mail.native.spans cimport Span
from deciban.mail.native.table cimport Table

cdef int emit_link(Table table, Span span, Py_ssize_t begin, Py_ssize_t end) except -1
