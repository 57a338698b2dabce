from deciban.mail.native.spans cimport Span
from deciban.mail.native.table cimport Table

cdef int take_subject(Table table, Span value) except -1
