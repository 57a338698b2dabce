from deciban.mail.native.lines cimport Line
from deciban.mail.native.names cimport MARKS, Name, Names
from deciban.mail.native.spans cimport Span
from deciban.mail.native.table cimport Table

cdef class Heads:
    cdef Table table
    cdef Names names
    cdef Line line, answer
    cdef Py_ssize_t begins[MARKS]
    cdef Py_ssize_t ends[MARKS]
    cdef int hops, passed

    cdef dict read(self, bytes raw)
    cdef int _read_line(self, Span head, Py_ssize_t begin, Py_ssize_t end) except -1
    cdef int _take(self, Name name, const char* prefix) except -1
    cdef int _take_by_python(self, Span head, Py_ssize_t begin, Py_ssize_t end) except -1
    cdef int _take_hop(self, Span head, Py_ssize_t begin, Py_ssize_t end) except -1
    cdef int _finish(self, Span head) except -1
    cdef int _take_reply(self, Span head) except -1
    cdef dict _contents(self, Span head)
    cdef str _value(self, Span head, int mark)
