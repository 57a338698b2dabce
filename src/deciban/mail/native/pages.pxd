from deciban.mail.native.buffers cimport Buffer
from deciban.mail.native.marks cimport Marks
from deciban.mail.native.spans cimport Span
from deciban.mail.native.table cimport Table
from deciban.mail.native.tags cimport Tag, Tags
from deciban.mail.native.views cimport View

cdef class Pages:
    cdef Table table
    cdef Marks marks
    cdef Tags tags
    cdef View view
    cdef Buffer plain, shown, hidden, spelled
    cdef Tag* passed
    cdef int n_passed, room
    cdef int style
    cdef dict sheets

    cdef bytes read(self, str source)
    cdef bint _read(self, str source) except -1
    cdef int _walk(self, Span span) except -1
    cdef Tag* _next(self) except NULL
    cdef int _show(self, Span span) except -1
    cdef int _show_tag(self, Span span, Tag* tag) except -1
    cdef int _show_text(self, Span span, Tag* tag, bint muted) except -1
    cdef int _emit(self, Span span) except -1
    cdef bytes _spelled(self, Buffer text)
    cdef int _emit_hidden(self, str hidden) except -1
    cdef bytes _by_python(self, str source)
    cdef object _hiding_names(self, Span span)
