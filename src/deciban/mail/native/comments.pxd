from deciban.mail.native.buffers cimport Buffer
from deciban.mail.native.spans cimport Span

cdef int add_without_comments(Span span, Buffer into) except -1
cdef int add_sheets(Span span, Buffer into) except -1
