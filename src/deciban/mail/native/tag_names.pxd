from libc.stdint cimport uint64_t
from deciban.mail.native.spans cimport small

cdef enum:
    N_SLOTS = 256

cdef extern from *:
    """
    #define LONG_NAME 0xFFFFFFFFFFFFFFFFULL
    """
    const uint64_t LONG_NAME

cdef class TagNames:
    cdef uint64_t codes[N_SLOTS]
    cdef int values[N_SLOTS]
    cdef int number(self, uint64_t code) noexcept
    cdef int _place(self, uint64_t code, int value) except -1

cdef uint64_t code_of(bytes name) except 0

cdef inline uint64_t name_with(uint64_t code, int c) noexcept nogil:
    """A name as one number, six bits a sign, with one more sign; names of more than ten are all one."""
    if code >> 54:
        return LONG_NAME
    c = small(c)
    if 97 <= c <= 122:
        c -= 96
    elif 48 <= c <= 57:
        c -= 21
    else:
        c = 37 if c == 45 else 38 if c == 58 else 39
    return code << 6 | c
