# cython: language_level=3
"""Tokens and their numbers, and which of them the messages at hand have."""

import os

from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.string cimport memcmp, memcpy, memset
from libc.stdint cimport uint32_t, uint64_t
from deciban.mail.native.spans cimport Span
from deciban.mail.words import LONGEST_TOKEN

cdef enum:
    EMPTY = 0xFFFFFFFF
    SMALLEST = 1 << 12
if LONGEST_TOKEN != LONGEST:
    raise ImportError(f"a token has at most {LONGEST_TOKEN} letters, not {LONGEST}")


cdef void* grown(void* old, size_t size) except NULL:
    cdef void* new = PyMem_Realloc(old, size)
    if new == NULL:
        raise MemoryError
    return new


cdef inline uint64_t eight(const unsigned char* letters, size_t size) noexcept:
    """Up to eight bytes as a number: all of them, for there is nothing to read beyond."""
    cdef uint64_t whole = 0
    cdef uint32_t first = 0, last = 0
    if size >= 8:
        memcpy(&whole, letters, 8)
    elif size >= 4:
        memcpy(&first, letters, 4)
        memcpy(&last, letters + size - 4, 4)
        whole = <uint64_t> first << 32 | last
    elif size > 0:
        whole = letters[0] | <uint32_t> letters[size >> 1] << 8 | <uint32_t> letters[size - 1] << 16
    return whole


cdef class Token:
    """A token as it is put together: what comes after sixty bytes is left out."""


cdef class Table:
    """Gives each token the next number when it is met, and notes each token of a message once.

    Letters of all tokens stand in one piece of memory, each followed by a line feed. The hash begins with a secret, so
    that nobody can write many tokens that fall on one another.
    """

    def __cinit__(self):
        self.seed = int.from_bytes(os.urandom(8), "little")
        self.token = Token()
        self.message = 1
        self.room, self.n_room, self.said_room, self.mask = SMALLEST * 16, SMALLEST, SMALLEST, 2 * SMALLEST - 1
        self.letters = <unsigned char*> grown(NULL, self.room)
        self.entries = <Entry*> grown(NULL, self.n_room * sizeof(Entry))
        self.hashes = <uint64_t*> grown(NULL, self.n_room * sizeof(uint64_t))
        self.said = <uint32_t*> grown(NULL, self.said_room * sizeof(uint32_t))
        self.slots = <Slot*> grown(NULL, (self.mask + <size_t> 1) * sizeof(Slot))
        memset(self.slots, 0xFF, (self.mask + <size_t> 1) * sizeof(Slot))
        self._number(self.letters, 0)

    def __dealloc__(self):
        PyMem_Free(self.letters)
        PyMem_Free(self.entries)
        PyMem_Free(self.hashes)
        PyMem_Free(self.said)
        PyMem_Free(self.slots)

    cdef void begin_message(self) noexcept:
        self.message += 1

    cdef int emit(self, Span span, Py_ssize_t begin, Py_ssize_t end) except -1:
        """Note a token that stands in some bytes."""
        begin, end = max(begin, 0), min(end, span.size)
        if begin < end:
            self.emit_number(self._number(span.start + begin, end - begin))
        return 0

    cdef int emit_token(self) except -1:
        """Note the token that was put together."""
        return self.emit_number(self._number(self.token.letters, self.token.size))

    cdef int emit_word(self, const char* word) except -1:
        """Note a token that is known beforehand."""
        self.token.begin(word)
        return self.emit_token()

    cdef int emit_written(self, const char* prefix, Span span, Py_ssize_t begin, Py_ssize_t end) except -1:
        """Note what stands in some bytes, as it is written, after a prefix."""
        self.token.begin(prefix)
        self.token.put_written(span, begin, end)
        return self.emit_token()

    cdef int emit_small(self, const char* prefix, Span span, Py_ssize_t begin, Py_ssize_t end) except -1:
        """Note what stands in some bytes, in small letters, after a prefix."""
        self.token.begin(prefix)
        self.token.put_small(span, begin, end)
        return self.emit_token()

    cdef int emit_number(self, uint32_t number) except -1:
        """Note a token that has a number, unless this message has it already, or it is none."""
        if number == 0 or number >= self.n or self.entries[number].message == self.message:
            return 0
        self.entries[number].message = self.message
        if self.n_said == self.said_room:
            self.said = <uint32_t*> grown(self.said, 2 * self.said_room * sizeof(uint32_t))
            self.said_room *= 2
        self.said[self.n_said] = number
        self.n_said += 1
        return 0

    cdef int emit_str(self, str token) except -1:
        """Note a token."""
        return self.emit_number(self.number_of(token))

    cdef uint32_t number_of(self, str token) except? 0:
        """The number of a token, a new one if it has none yet."""
        cdef bytes written = token.encode("utf-8", "replace")
        return self._number(<const unsigned char*> written, len(written))

    cdef uint32_t _number(self, const unsigned char* letters, size_t size) except? 0:
        cdef uint64_t h = self.seed ^ size * <uint64_t> 0x9E3779B97F4A7C15
        cdef size_t i = 0
        while True:
            h = (h ^ eight(letters + i, size - i)) * <uint64_t> 0xFF51AFD7ED558CCD
            h ^= h >> 32
            i += 8
            if i >= size:
                break
        h = (h ^ self.seed) * <uint64_t> 0xC4CEB9FE1A85EC53
        h ^= h >> 29
        cdef uint32_t at = <uint32_t> h & self.mask, tag = h >> 32
        cdef Slot slot = self.slots[at]
        while slot.number != EMPTY:
            if slot.tag == tag and self._is(slot.number, letters, size):
                return slot.number
            at = (at + 1) & self.mask
            slot = self.slots[at]
        return self._enter(letters, size, h)

    cdef inline bint _is(self, uint32_t number, const unsigned char* letters, size_t size) noexcept:
        cdef Entry* entry = self.entries + number
        return entry.size == size and memcmp(self.letters + entry.start, letters, size) == 0

    cdef uint32_t _enter(self, const unsigned char* letters, size_t size, uint64_t h) except? 0:
        cdef uint32_t number = self.n
        if self.n == self.n_room:
            self._more_tokens()
        if self.used + size + 1 > self.room:
            self.letters = <unsigned char*> grown(self.letters, 2 * self.room + size)
            self.room = 2 * self.room + size
        self.entries[number] = Entry(self.used, size, 0)
        memcpy(self.letters + self.used, letters, size)
        self.used += size + 1
        self.letters[self.used - 1] = 10
        self.hashes[number] = h
        self.n += 1
        self._place(number)
        return number

    cdef void _place(self, uint32_t number) noexcept:
        cdef uint32_t at = <uint32_t> self.hashes[number] & self.mask
        while self.slots[at].number != EMPTY:
            at = (at + 1) & self.mask
        self.slots[at] = Slot(self.hashes[number] >> 32, number)

    cdef int _more_tokens(self) except -1:
        cdef size_t room = 2 * <size_t> self.n_room
        cdef size_t n_slots = 2 * room
        self.entries = <Entry*> grown(self.entries, room * sizeof(Entry))
        self.hashes = <uint64_t*> grown(self.hashes, room * sizeof(uint64_t))
        self.slots = <Slot*> grown(self.slots, n_slots * sizeof(Slot))
        memset(self.slots, 0xFF, n_slots * sizeof(Slot))
        self.n_room, self.mask = room, n_slots - 1
        cdef uint32_t number
        for number in range(self.n):
            self._place(number)
        return 0

    def __len__(self):
        return self.n
