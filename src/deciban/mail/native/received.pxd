from deciban.mail.native.spans cimport Span
from deciban.mail.native.table cimport Table

cdef int take_hop(Table table, Span hop) except -1
