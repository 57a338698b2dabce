# cython: language_level=3
"""What is taken of each header, as `deciban.mail.takers` does it, of values in ASCII with single spaces."""

from deciban.mail.native.cleaned cimport Word, clean, next_word, put_word
from deciban.mail.native.hosts cimport emit_host
from deciban.mail.native.spans cimport Span, byte, find, is_digit, is_host, is_letter, is_word, small, stands
from deciban.mail.native.table cimport Table
from deciban.mail.takers import MOST_WORDS as _MOST_WORDS

cdef int MOST_WORDS = _MOST_WORDS
cdef enum:
    MOST_PIECES = 4
    LONGEST_ID_HOST = 100
    LONGEST_MAILER = 200
    MOST_MAILER_WORDS = 8
    LONGEST_PRIORITY = 30
    LONGEST_KIND = 50
    LONGEST_LIST = 300
    LONGEST_RESULT = 12
    LONGEST_SIGNATURE = 1000
    LONGEST_SIGNER = 80


cdef int take_message_id(Table table, Span value) except -1:
    """The host that gave the message its number."""
    cdef Py_ssize_t begin = value.size, end = value.size
    while begin > 0 and byte(value, begin - 1) != 64:
        begin -= 1
    while begin < end and byte(value, begin) in b"<> ":
        begin += 1
    while begin < end and byte(value, end - 1) in b"<> ":
        end -= 1
    emit_host(table, b"message-id:", value, begin, min(end, begin + LONGEST_ID_HOST), MOST_PIECES)


cdef int take_mailer(Table table, Span value) except -1:
    """The program that wrote the message, in words and as a whole."""
    cdef Py_ssize_t begins[MOST_MAILER_WORDS]
    cdef Py_ssize_t ends[MOST_MAILER_WORDS]
    cdef Py_ssize_t at = 0, end = min(value.size, <Py_ssize_t> LONGEST_MAILER)
    cdef int n = 0, i
    while at < end and n < MOST_MAILER_WORDS:
        begins[n] = at
        ends[n] = at = _mailer_word_end(value, at, end)
        if begins[n] == at:
            at += 1
            continue
        table.emit_small(b"mailer:", value, begins[n], at)
        n += 1
    table.token.begin(b"mailer:")
    for i in range(n):
        if i:
            table.token.put(95)
        table.token.put_small(value, begins[i], ends[i])
    table.emit_token()


cdef Py_ssize_t _mailer_word_end(Span value, Py_ssize_t at, Py_ssize_t end) noexcept:
    """Where a word or a number of a version ends that begins at a place; the same place if none does."""
    if is_letter(byte(value, at)):
        while at < end and (is_word(byte(value, at)) or byte(value, at) == 45):
            at += 1
        return at
    while at < end and is_digit(byte(value, at)):
        at += 1
        if at + 1 < end and byte(value, at) == 46 and is_digit(byte(value, at + 1)):
            at += 1
    return at


cdef int take_priority(Table table, const char* prefix, Span value) except -1:
    """How urgent it is said to be."""
    _take_whole(table, prefix, value, LONGEST_PRIORITY)


cdef int take_kind(Table table, const char* prefix, Span value) except -1:
    """The type of the whole, or how it is encoded."""
    _take_whole(table, prefix, value, min(find(value, 59, 0, value.size), <Py_ssize_t> LONGEST_KIND))


cdef int take_spf(Table table, Span value) except -1:
    """What the receiving server found out about the sender, as some servers write it."""
    _take_whole(table, b"auth:spf=", value, find(value, 32, 0, value.size))


cdef int take_date(Table table, Span value) except -1:
    """The time zone."""
    cdef Py_ssize_t at, i
    for at in range(value.size):
        if byte(value, at) != 43 and byte(value, at) != 45:
            continue
        i = 1
        while i < 5 and is_digit(byte(value, at + i)):
            i += 1
        if i == 5 and not is_word(byte(value, at + 5)):
            return table.emit_small(b"date:", value, at, at + 5)
    return table.emit_word(b"date:no-zone")


cdef int take_list(Table table, Span value) except -1:
    """Which list it came by."""
    cdef Word word
    cdef Py_ssize_t at = 0, end = min(value.size, <Py_ssize_t> LONGEST_LIST)
    cdef int n
    for n in range(MOST_WORDS):
        at = next_word(value, at, end, &word)
        if word.begin == word.end:
            break
        if clean(value, &word):
            table.token.begin(b"list:")
            put_word(table.token, value, word)
            table.emit_token()


cdef int take_results(Table table, Span value) except -1:
    """What the receiving server found out about the sender: what stands on both sides of each =."""
    cdef Py_ssize_t at = 0, done = 0, begin, end
    while True:
        at = find(value, 61, at, value.size)
        if at >= value.size:
            return 0
        begin = _method_begin(value, at)
        end = at + 1
        while end < value.size and end <= at + LONGEST_RESULT and is_word(byte(value, end)):
            end += 1
        if begin >= done and end > at + 1:
            table.emit_small(b"auth:", value, begin, end)
            done = end
        at += 1


cdef Py_ssize_t _method_begin(Span value, Py_ssize_t end) noexcept:
    """Where a way of finding out begins that ends at a place; -1 if there is none."""
    cdef Py_ssize_t begin = end
    while is_letter(byte(value, begin - 1)):
        begin -= 1
        if end - begin > 8:
            return -1
    if is_word(byte(value, begin - 1)):
        return -1
    if end - begin == 4 and stands(value, begin - 5, b"dkim-adsp"):
        return begin - 5 if not is_word(byte(value, begin - 6)) else -1
    if end - begin == 3 and (stands(value, begin, b"spf") or stands(value, begin, b"arc")):
        return begin
    if end - begin == 4 and stands(value, begin, b"dkim"):
        return begin
    if end - begin == 5 and (stands(value, begin, b"dmarc") or stands(value, begin, b"iprev")):
        return begin
    return begin if end - begin == 8 and stands(value, begin, b"compauth") else -1


cdef int take_signature(Table table, Span value) except -1:
    """Which domain signed: the first d= at the start or after a semicolon."""
    cdef Py_ssize_t at = 0, begin, size = min(value.size, <Py_ssize_t> LONGEST_SIGNATURE)
    while at < size:
        if byte(value, at) == 32:
            at += 1
        begin = at + 2
        if begin < size and byte(value, at) == 100 and byte(value, at + 1) == 61:
            at = begin
            while at < size and at - begin < LONGEST_SIGNER and is_host(byte(value, at)):
                at += 1
            if at > begin:
                emit_host(table, b"dkim:", value, begin, at, MOST_PIECES)
                return 0
        at = find(value, 59, at, size) + 1


cdef int _take_whole(Table table, const char* prefix, Span value, Py_ssize_t end) except -1:
    """A value up to a place, in small letters, with _ for spaces."""
    cdef Py_ssize_t i
    cdef int c
    end = min(end, value.size)
    while end > 0 and byte(value, end - 1) == 32:
        end -= 1
    table.token.begin(prefix)
    for i in range(end):
        c = byte(value, i)
        table.token.put(95 if c == 32 else small(c))
    table.emit_token()
