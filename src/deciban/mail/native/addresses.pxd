from deciban.mail.native.spans cimport Span
from deciban.mail.native.table cimport Table

cdef struct Mail:
    Py_ssize_t begin
    Py_ssize_t at
    Py_ssize_t end

cdef bint next_mail(Span text, Py_ssize_t begin, Py_ssize_t end, Mail* mail) noexcept
cdef int take_sender(Table table, const char* prefix, Span value) except -1
cdef int take_recipients(Table table, const char* prefix, Span value) except -1
cdef const char* reply_token(Span answer, Span writer) noexcept
