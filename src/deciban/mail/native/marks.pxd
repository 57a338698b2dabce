from libc.stdint cimport uint64_t
from deciban.mail.native.spans cimport Span
from deciban.mail.native.table cimport Table

cdef class Marks:
    cdef readonly list telling
    cdef list tokens
    cdef Table words
    cdef uint64_t told

    cdef int begin_page(self) except -1
    cdef int add(self, const char* mark) except -1
    cdef int add_colour(self, const char* prefix, int colour) except -1
    cdef int add_small(self, const char* prefix, Span span, int begin, int end) except -1
    cdef int add_written(self, const char* prefix, Span span, int begin, int end) except -1
    cdef int add_str(self, str mark) except -1
    cdef int count(self) noexcept
    cdef int emit(self, Table table) except -1
    cdef inline void tell(self, int place) noexcept:
        self.told |= <uint64_t> 1 << place
    cdef inline bint tells(self, int place) noexcept:
        return self.told >> place & 1
