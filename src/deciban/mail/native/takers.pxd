from deciban.mail.native.spans cimport Span
from deciban.mail.native.table cimport Table

cdef int take_message_id(Table table, Span value) except -1
cdef int take_mailer(Table table, Span value) except -1
cdef int take_priority(Table table, const char* prefix, Span value) except -1
cdef int take_kind(Table table, const char* prefix, Span value) except -1
cdef int take_date(Table table, Span value) except -1
cdef int take_list(Table table, Span value) except -1
cdef int take_results(Table table, Span value) except -1
cdef int take_spf(Table table, Span value) except -1
cdef int take_signature(Table table, Span value) except -1
