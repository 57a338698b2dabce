# cython: language_level=3
"""Words of ASCII one by one, cleaned as `deciban.mail.words.Cleaner` does it, for tokens that have a prefix."""

from deciban.mail.native.spans cimport Span, byte
from deciban.mail.native.table cimport Token
from deciban.mail.reading import USUAL
from deciban.mail.words import INSIDE as _INSIDE
from deciban.mail.words import LONGEST_RUN as _LONGEST_RUN
from deciban.mail.words import TO_SPACES

cdef int SHORTEST = USUAL.shortest
cdef int LONGEST = USUAL.longest
cdef int LONGEST_RUN = _LONGEST_RUN

cdef unsigned char IN_WORD[256]
cdef unsigned char IS_SIGN[256]
for _c in range(256):
    IN_WORD[_c] = TO_SPACES[_c] != 32
    IS_SIGN[_c] = _c in _INSIDE.encode()


cdef Py_ssize_t next_word(Span text, Py_ssize_t at, Py_ssize_t end, Word* word) noexcept:
    """The next word as it is written, from a place on; an empty one if there is none. Where it ends."""
    while at < end and not IN_WORD[byte(text, at)]:
        at += 1
    word.begin = at
    while at < end and IN_WORD[byte(text, at)]:
        at += 1
    word.end = at
    return at


cdef bint clean(Span text, Word* word) noexcept:
    """Take the signs away from both ends of a word; whether something is left, and not far too much."""
    if word.end - word.begin > LONGEST_RUN:
        return False
    while word.begin < word.end and IS_SIGN[byte(text, word.begin)]:
        word.begin += 1
    while word.begin < word.end and IS_SIGN[byte(text, word.end - 1)]:
        word.end -= 1
    word.long = word.end - word.begin > LONGEST
    return word.end - word.begin >= SHORTEST


cdef void put_word(Token token, Span text, Word word) noexcept:
    """Add a clean word to a token, in small letters; of a long one its first letter and about how long it is."""
    if not word.long:
        token.put_small(text, word.begin, word.end)
        return
    token.text(b"skip:")
    token.put_small(text, word.begin, word.begin + 1)
    token.put(58)
    token.number((word.end - word.begin) // 10 * 10)
