# cython: language_level=3
"""Links in pieces, as `deciban.mail.links.link_tokens` gives them."""

from deciban.mail.links import LONGEST_LINK as _LONGEST_LINK
from deciban.mail.links import MOST_PATH_WORDS as _MOST_PATH_WORDS
from deciban.mail.links import link_tokens

from deciban.mail.native.hosts cimport emit_host, is_address
from deciban.mail.native.spans cimport Span, byte, find, is_alnum, is_digit, is_letter, is_space, small
from deciban.mail.native.table cimport Table

cdef int MOST_PATH_WORDS = _MOST_PATH_WORDS
cdef enum:
    LONGEST_LINK = 1000
    LONGEST_SCHEME = 16
    MOST_PIECES = 4
if _LONGEST_LINK != LONGEST_LINK:
    raise ImportError(f"a link has at most {_LONGEST_LINK} letters, not {LONGEST_LINK}")


cdef int emit_link(Table table, Span span, Py_ssize_t begin, Py_ssize_t end) except -1:
    """What a link tells: where it leads, in pieces, and how it is written."""
    cdef Py_ssize_t i
    cdef bint coded = False
    begin, end = max(begin, 0), min(end, span.size)
    for i in range(begin, min(end, begin + LONGEST_LINK)):
        if byte(span, i) >= 128:
            return _emit_by_python(table, span, begin, end)
        coded = coded or byte(span, i) == 37
    end = min(end, begin + LONGEST_LINK)
    if coded:
        return _emit_decoded(table, span, begin, end)
    return _emit_plain(table, span, begin, end)


cdef int _emit_by_python(Table table, Span span, Py_ssize_t begin, Py_ssize_t end) except -1:
    cdef str token
    end = min(end, begin + 4 * LONGEST_LINK)  # a character has four bytes at most
    cdef bytes link = span.start[begin:end]
    for token in link_tokens(link.decode("utf-8", "replace"), True):
        table.emit_str(token)


cdef int _emit_decoded(Table table, Span span, Py_ssize_t begin, Py_ssize_t end) except -1:
    """A link with percent codes: those of ASCII stand for their characters."""
    cdef unsigned char letters[LONGEST_LINK]
    cdef Span decoded
    cdef int c, high, low
    decoded.start, decoded.size = letters, 0
    while begin < end and decoded.size < LONGEST_LINK:
        c = byte(span, begin)
        if c == 37 and begin + 2 < end:
            high, low = _digit(byte(span, begin + 1)), _digit(byte(span, begin + 2))
            if 0 <= high < 8 and low >= 0:
                c = 16 * high + low
                begin += 2
        letters[decoded.size] = c
        decoded.size += 1
        begin += 1
    return _emit_plain(table, decoded, 0, decoded.size)


cdef int _digit(int c) noexcept nogil:
    """What a hexadecimal digit stands for; -1 if it is none."""
    if is_digit(c):
        return c - 48
    return (c | 32) - 87 if 97 <= (c | 32) <= 102 else -1


cdef int _emit_plain(Table table, Span span, Py_ssize_t begin, Py_ssize_t end) except -1:
    cdef Py_ssize_t scheme = _scheme_end(span, begin, end)
    cdef Py_ssize_t place = scheme + 1 if scheme > begin else begin
    cdef Py_ssize_t path
    if place + 2 <= end and byte(span, place) == 47 and byte(span, place + 1) == 47:
        place += 2
    path = place
    while path < end and not _ends_place(byte(span, path)):
        path += 1
    if scheme > begin and _is(span, begin, scheme, "mailto"):
        emit_host(table, "url:mailto:", span, _after_user(span, place, path), path, 3)
    elif scheme > begin and not _is_web(span, begin, scheme):
        table.emit_small("url:scheme:", span, begin, scheme)
    else:
        _emit_place(table, span, place, path)
        _emit_path(table, span, path, end)


cdef Py_ssize_t _scheme_end(Span span, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    """Where the colon after the scheme stands; the beginning if there is none."""
    cdef Py_ssize_t i = begin
    cdef int c
    if i < end and is_letter(byte(span, i)):
        while i < end and i - begin <= LONGEST_SCHEME:
            c = byte(span, i)
            if c == 58:
                return i
            if not (is_alnum(c) or c == 43 or c == 45 or c == 46):
                return begin
            i += 1
    return begin


cdef inline bint _ends_place(int c) noexcept nogil:
    return c == 47 or c == 63 or c == 35 or is_space(c)


cdef bint _is(Span span, Py_ssize_t begin, Py_ssize_t end, const char* word) noexcept:
    """Whether a word in small letters stands there, in whatever letters."""
    cdef Py_ssize_t i = 0
    while begin + i < end and word[i] and small(byte(span, begin + i)) == word[i]:
        i += 1
    return begin + i == end and not word[i]


cdef bint _is_web(Span span, Py_ssize_t begin, Py_ssize_t end) noexcept:
    return _is(span, begin, end, "http") or _is(span, begin, end, "https") or _is(span, begin, end, "ftp")


cdef Py_ssize_t _after_user(Span span, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    """Where the host begins: after the last '@', if there is one."""
    cdef Py_ssize_t i = end
    while i > begin:
        if byte(span, i - 1) == 64:
            return i
        i -= 1
    return begin


cdef int _emit_place(Table table, Span span, Py_ssize_t begin, Py_ssize_t end) except -1:
    """Pieces of the host, its port, and whether a user is named."""
    cdef Py_ssize_t host = _after_user(span, begin, end)
    cdef Py_ssize_t colon = find(span, 58, host, end)
    emit_host(table, "url:", span, host, colon, MOST_PIECES)
    if is_address(span, host, colon) or _all_digits(span, host, colon):
        table.emit_word("url:numeric")
    if end - colon <= 6 and _all_digits(span, colon + 1, end):
        table.emit_small("url:port:", span, colon + 1, end)
    if host > begin:
        table.emit_word("url:user")


cdef bint _all_digits(Span span, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(begin, end):
        if not is_digit(byte(span, i)):
            return False
    return begin < end


cdef int _emit_path(Table table, Span span, Py_ssize_t begin, Py_ssize_t end) except -1:
    """The first words and numbers of what follows the host, up to a space."""
    cdef Py_ssize_t i = begin, after
    cdef int words = 0
    while i < end and words < MOST_PATH_WORDS and not is_space(byte(span, i)):
        after = i + 1
        if is_digit(byte(span, i)):
            while after < end and after < i + 6 and is_digit(byte(span, after)):
                after += 1
        elif is_letter(byte(span, i)):
            while after < end and after < i + 20 and is_letter(byte(span, after)):
                after += 1
        if is_digit(byte(span, i)) or after - i > 2:
            table.emit_small("url:path:", span, i, after)
            words += 1
        i = after
