from deciban.mail.native.spans cimport Span

cdef class Buffer:
    cdef unsigned char* letters
    cdef Py_ssize_t size, room
    cdef int _widen(self, Py_ssize_t more) except -1
    cdef int add(self, Span span, Py_ssize_t begin, Py_ssize_t end) except -1
    cdef Span span(self) noexcept
    cdef inline int put(self, int c) except -1:
        if self.size == self.room:
            self._widen(1)
        self.letters[self.size] = c
        self.size += 1
        return 0
