# cython: language_level=3
"""Who writes to whom: addresses of mail and the names beside them, as `deciban.mail.takers` takes them."""

from deciban.mail.native.cleaned cimport Word, clean, next_word, put_word
from deciban.mail.native.hosts cimport emit_host
from deciban.mail.native.spans cimport Span, byte, is_host, small, stands
from deciban.mail.native.table cimport Table
from deciban.mail.takers import LONGEST_ADDRESSES as _LONGEST_ADDRESSES
from deciban.mail.takers import MOST_ADDRESSES as _MOST_ADDRESSES
from deciban.mail.takers import MOST_WORDS as _MOST_WORDS

cdef int LONGEST_ADDRESSES = _LONGEST_ADDRESSES
cdef int MOST_ADDRESSES = _MOST_ADDRESSES
cdef int MOST_WORDS = _MOST_WORDS
cdef enum:
    LONGEST_USER = 80
    LONGEST_HOST = 80
    MOST_PIECES = 4
    MOST_COUNTED = 100

cdef unsigned char IN_USER[256]
for _c in range(256):
    IN_USER[_c] = _c > 32 and _c not in b"<>()[]\",;:@"


cdef bint next_mail(Span text, Py_ssize_t begin, Py_ssize_t end, Mail* mail) noexcept:
    """The next address, as MAIL of `deciban.mail.links` finds it, from the start or from where the last one ended."""
    cdef Py_ssize_t at = begin
    while at < end:
        begin = at
        while at < end and IN_USER[byte(text, at)]:
            at += 1
        # What an address left over of a run of letters cannot begin another.
        if begin > 0 and IN_USER[byte(text, begin - 1)] or not 0 < at - begin <= LONGEST_USER:
            at += 1
            continue
        if at + 1 < end and byte(text, at) == 64 and is_host(byte(text, at + 1)):
            mail.begin, mail.at = begin, at
            at += 1
            while at < end and at - mail.at <= LONGEST_HOST and is_host(byte(text, at)):
                at += 1
            mail.end = at
            return True
        at += 1
    return False


cdef int take_sender(Table table, const char* prefix, Span value) except -1:
    """The first addresses and the hosts in them, and the words of names that stand between all addresses."""
    cdef Mail mail
    cdef Py_ssize_t at = 0, end = min(value.size, <Py_ssize_t> LONGEST_ADDRESSES)
    cdef int n = 0, words_left = MOST_WORDS
    cdef bint named = False
    while next_mail(value, at, end, &mail):
        words_left = _take_names(table, prefix, value, at, mail.begin, words_left, &named)
        n += 1
        if n <= MOST_ADDRESSES:
            _take_address(table, prefix, value, mail)
        at = mail.end
    _take_names(table, prefix, value, at, end, words_left, &named)
    if not named:
        table.token.begin(prefix)
        table.token.text(b"nameless")
        table.emit_token()


cdef int _take_address(Table table, const char* prefix, Span value, Mail mail) except -1:
    table.token.begin(prefix)
    table.token.text(b"addr:")
    table.token.put_small(value, mail.begin, mail.end)
    table.emit_token()
    emit_host(table, prefix, value, mail.at + 1, mail.end, MOST_PIECES)


cdef int _take_names(
    Table table, const char* prefix, Span value, Py_ssize_t begin, Py_ssize_t end, int most, bint* named
) except -1:
    """The words of a name: of so many; how many are still to be taken, and whether there was one."""
    cdef Word word
    while most > 0:
        begin = next_word(value, begin, end, &word)
        if word.begin == word.end:
            break
        most -= 1
        if not clean(value, &word) or word.end - word.begin == 6 and stands(value, word.begin, b"mailto"):
            continue
        named[0] = True
        table.token.begin(prefix)
        table.token.text(b"name:")
        put_word(table.token, value, word)
        table.emit_token()
    return most


cdef int take_recipients(Table table, const char* prefix, Span value) except -1:
    """The same, and how many there are, as a power of two."""
    cdef Py_ssize_t i
    cdef int n = 0, power = 0
    take_sender(table, prefix, value)
    for i in range(value.size):
        n += byte(value, i) == 64
    n = min(n, <int> MOST_COUNTED)
    while n:
        n >>= 1
        power += 1
    table.token.begin(prefix)
    table.token.number(power)
    table.emit_token()


cdef const char* reply_token(Span answer, Span writer) noexcept:
    """Whether answers go to the sender, to another at the same host, or elsewhere; nothing if there is no address."""
    cdef Mail one, other
    if not next_mail(answer, 0, min(answer.size, <Py_ssize_t> LONGEST_ADDRESSES), &one):
        return b""
    if not next_mail(writer, 0, min(writer.size, <Py_ssize_t> LONGEST_ADDRESSES), &other):
        return b""
    if _are_same(answer, one.begin, one.end, writer, other.begin, other.end):
        return b"reply:same"
    return b"reply:host" if _are_same(answer, one.at, one.end, writer, other.at, other.end) else b"reply:other"


cdef bint _are_same(
    Span one, Py_ssize_t begin, Py_ssize_t end, Span other, Py_ssize_t there, Py_ssize_t other_end
) noexcept:
    if end - begin != other_end - there:
        return False
    while begin < end:
        if small(byte(one, begin)) != small(byte(other, there)):
            return False
        begin += 1
        there += 1
    return True
