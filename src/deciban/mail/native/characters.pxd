from deciban.mail.native.buffers cimport Buffer
from deciban.mail.native.spans cimport Span

cdef bint write_plain(Buffer plain, Span text, Py_ssize_t begin, Py_ssize_t end) except -1
