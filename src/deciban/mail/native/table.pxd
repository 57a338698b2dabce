from libc.stdint cimport uint32_t, uint64_t
from deciban.mail.native.spans cimport Span, byte, small

cdef enum:
    LONGEST = 60

cdef class Token:
    cdef unsigned char letters[LONGEST]
    cdef int size
    cdef inline void begin(self, const char* prefix) noexcept:
        self.size = 0
        self.text(prefix)
    cdef inline void put(self, int c) noexcept:
        if self.size < LONGEST:
            self.letters[self.size] = c
            self.size += 1
    cdef inline void text(self, const char* text) noexcept:
        cdef Py_ssize_t i = 0
        while text[i]:
            self.put(<unsigned char> text[i])
            i += 1
    cdef inline void put_written(self, Span span, Py_ssize_t begin, Py_ssize_t end) noexcept:
        while begin < end:
            self.put(byte(span, begin))
            begin += 1
    cdef inline void put_small(self, Span span, Py_ssize_t begin, Py_ssize_t end) noexcept:
        while begin < end:
            self.put(small(byte(span, begin)))
            begin += 1
    cdef inline void number(self, Py_ssize_t n) noexcept:
        if n >= 10:
            self.number(n // 10)
        self.put(48 + n % 10)

cdef struct Entry:
    size_t start
    uint32_t size
    uint32_t message

cdef struct Slot:
    uint32_t tag
    uint32_t number

cdef class Table:
    cdef uint64_t seed
    cdef unsigned char* letters
    cdef size_t used, room
    cdef Entry* entries
    cdef uint64_t* hashes
    cdef Slot* slots
    cdef uint32_t* said
    cdef size_t n_said, said_room
    cdef uint32_t n, n_room, mask, message
    cdef Token token

    cdef void begin_message(self) noexcept
    cdef int emit(self, Span span, Py_ssize_t begin, Py_ssize_t end) except -1
    cdef int emit_token(self) except -1
    cdef int emit_word(self, const char* word) except -1
    cdef int emit_written(self, const char* prefix, Span span, Py_ssize_t begin, Py_ssize_t end) except -1
    cdef int emit_small(self, const char* prefix, Span span, Py_ssize_t begin, Py_ssize_t end) except -1
    cdef int emit_number(self, uint32_t number) except -1
    cdef int emit_str(self, str token) except -1
    cdef uint32_t number_of(self, str token) except? 0
    cdef uint32_t _number(self, const unsigned char* letters, size_t size) except? 0
    cdef uint32_t _enter(self, const unsigned char* letters, size_t size, uint64_t h) except? 0
    cdef bint _is(self, uint32_t number, const unsigned char* letters, size_t size) noexcept
    cdef void _place(self, uint32_t number) noexcept
    cdef int _more_tokens(self) except -1
