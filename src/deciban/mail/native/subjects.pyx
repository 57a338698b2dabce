# cython: language_level=3
"""Subjects: their words, pairs of them, capitals, prices and shouts, as `deciban.mail.takers` takes them."""

from deciban.mail.native.cleaned cimport Word, clean, next_word, put_word
from deciban.mail.native.spans cimport Span, byte
from deciban.mail.native.table cimport Table
from deciban.mail.takers import MOST_WORDS as _MOST_WORDS
from deciban.mail.words import amounts

cdef int MOST_WORDS = _MOST_WORDS
cdef enum:
    LONGEST_SHOUT = 20
    PLUS = 43


cdef struct Looks:
    bint capitals
    bint amounts
    bint calls
    bint asks
    bint upper


cdef inline bint is_capital(int c) noexcept:
    return 65 <= c <= 90


cdef inline bint is_small(int c) noexcept:
    return 97 <= c <= 122


cdef Looks looks_of(Span value) noexcept:
    """Whether three capitals stand together, there may be amounts, there is a ! or a ?, and no letter is small."""
    cdef Looks looks
    cdef int c = 0, last, run = 0
    cdef bint any_small = False
    cdef Py_ssize_t i
    looks.capitals = looks.amounts = looks.calls = looks.asks = False
    for i in range(value.size):
        last = c
        c = byte(value, i)
        run = run + 1 if is_capital(c) else 0
        looks.capitals = looks.capitals or run == 3
        any_small = any_small or is_small(c)
        looks.calls = looks.calls or c == 33
        looks.asks = looks.asks or c == 63
        looks.amounts = looks.amounts or c == 36 or c == 37 or (c == last and (c == 33 or c == 63))
    looks.upper = looks.capitals and not any_small
    return looks


cdef int take_subject(Table table, Span value) except -1:
    """All that a subject tells."""
    cdef Looks looks = looks_of(value)
    cdef int capitals = _take_words(table, value, looks.capitals)
    if capitals > 2 and looks.upper:
        table.emit_word(b"subject:capitals")
    if looks.calls:
        table.emit_word(b"subject:!")
    if looks.asks:
        table.emit_word(b"subject:?")
    if looks.amounts:
        for amount in amounts(value.start[: value.size].decode("ascii")):
            table.emit_str("subject:" + amount)


cdef int _take_words(Table table, Span value, bint shouting) except -1:
    """Words, and each with the next; how many of them shout."""
    cdef Word word, last
    cdef Py_ssize_t at = 0
    cdef bint second = False
    cdef int n, capitals = 0
    for n in range(MOST_WORDS):
        at = next_word(value, at, value.size, &word)
        if word.begin == word.end:
            break
        if shouting and _shouts(value, word):
            capitals += 1
            table.emit_written(b"subject:", value, word.begin, word.end)
        if not clean(value, &word):
            continue
        if second:
            _take_pair(table, value, last, word)
        table.token.begin(b"subject:")
        put_word(table.token, value, word)
        table.emit_token()
        last, second = word, True
    return capitals


cdef int _take_pair(Table table, Span value, Word one, Word next) except -1:
    table.token.begin(b"subject:")
    put_word(table.token, value, one)
    table.token.put(PLUS)
    put_word(table.token, value, next)
    return table.emit_token()


cdef bint _shouts(Span value, Word word) noexcept:
    """Whether a word as it is written has capitals and no small letters, and is neither short nor long."""
    cdef Py_ssize_t i
    cdef bint capital = False
    if not 2 < word.end - word.begin <= LONGEST_SHOUT:
        return False
    for i in range(word.begin, word.end):
        if is_small(byte(value, i)):
            return False
        capital = capital or is_capital(byte(value, i))
    return capital
