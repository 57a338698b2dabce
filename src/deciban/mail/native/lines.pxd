from deciban.mail.native.spans cimport Span

cdef enum:
    LONGEST_LINE = 8192

cdef class Line:
    cdef unsigned char letters[LONGEST_LINE]
    cdef Py_ssize_t size
    cdef inline void put(self, int c) noexcept:
        if self.size < LONGEST_LINE:
            self.letters[self.size] = c
            self.size += 1
    cdef inline Span span(self) noexcept:
        cdef Span all
        all.start, all.size = self.letters, self.size
        return all
    cdef void copy(self, Span text, Py_ssize_t begin, Py_ssize_t end) noexcept
    cdef bint unfold(self, Span head, Py_ssize_t begin, Py_ssize_t end) noexcept

cdef bint is_plain(Span text) noexcept
cdef Py_ssize_t line_end(Span head, Py_ssize_t begin, Py_ssize_t end) noexcept
cdef bint stands_as(Span text, Py_ssize_t at, const char* wanted) noexcept
cdef bint holds(Span text, Py_ssize_t begin, Py_ssize_t end, const char* wanted) noexcept
