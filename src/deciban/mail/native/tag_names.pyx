# cython: language_level=3
"""Names of tags and attributes, known by a number that holds their letters."""

from libc.stdint cimport uint64_t


cdef class TagNames:
    """Short words, each with a number; there are no more of them than were given."""

    def __init__(self, dict known):
        if 2 * len(known) > N_SLOTS:
            raise ValueError(f"{len(known)} names are too many")
        for name, value in known.items():
            self._place(code_of(name.encode()), value)

    cdef int _place(self, uint64_t code, int value) except -1:
        cdef int at = _slot(code)
        while self.codes[at]:
            at = (at + 1) % N_SLOTS
        self.codes[at], self.values[at] = code, value

    cdef int number(self, uint64_t code) noexcept:
        """What a name was given; -1 for one that is not known."""
        cdef int at = _slot(code)
        while self.codes[at]:
            if self.codes[at] == code:
                return self.values[at]
            at = (at + 1) % N_SLOTS
        return -1


cdef inline int _slot(uint64_t code) noexcept:
    return (code * <uint64_t> 0x9E3779B97F4A7C15) >> 56


cdef uint64_t code_of(bytes name) except 0:
    cdef uint64_t code = 0
    cdef int c
    for c in name:
        code = name_with(code, c)
    if code == LONG_NAME or code == 0:
        raise ValueError(f"{name!r} is not of one to ten letters")
    return code
