from libc.stdint cimport uint64_t
from deciban.mail.native.marks cimport Marks
from deciban.mail.native.spans cimport Span
from deciban.mail.native.tag_names cimport TagNames

cdef enum:  # attributes that mean something; the first four lead somewhere
    HREF
    SRC
    ACTION
    BACKGROUND
    STYLE
    COLOR
    BGCOLOR
    ALT
    CLASS
    ID
    SIZE
    WIDTH
    HEIGHT
    N_GIVEN

cdef struct Range:
    int begin
    int end  # -1 for what is not there

cdef class Attributes:
    cdef Range given[N_GIVEN]
    cdef TagNames names
    cdef Marks marks

    cdef bint read(self, Span span, int begin, int end) except -1
    cdef int _read_one(self, Span span, int begin, int at, int end) except -2
    cdef int _give(self, Span span, int begin, int end, uint64_t code, Range value) except -1
    cdef bint _are_awkward(self, Span span) noexcept
    cdef inline bint has(self, int which) noexcept:
        return self.given[which].end >= 0
