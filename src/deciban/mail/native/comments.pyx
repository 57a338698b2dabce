# cython: language_level=3
"""Comments and style sheets of a page: what is taken out of it."""

from deciban.mail.native.buffers cimport Buffer
from deciban.mail.native.spans cimport Span, byte, find, stands


cdef int add_without_comments(Span span, Buffer into) except -1:
    """A page without its comments; the last may have no end."""
    cdef Py_ssize_t at, done = 0
    while done < span.size:
        at = _comment(span, done)
        into.add(span, done, at)
        done = _after_comment(span, at + 4)


cdef Py_ssize_t _comment(Span span, Py_ssize_t at) noexcept:
    """Where the next comment begins; the end if there is none."""
    while True:
        at = find(span, 60, at, span.size)
        if at >= span.size:
            return span.size
        if byte(span, at + 1) == 33 and byte(span, at + 2) == 45 and byte(span, at + 3) == 45:
            return at
        at += 1


cdef Py_ssize_t _after_comment(Span span, Py_ssize_t at) noexcept:
    """Where a comment ends whose text begins at a place."""
    if byte(span, at) == 62:
        return at + 1
    if byte(span, at) == 45 and byte(span, at + 1) == 62:
        return at + 2
    while True:
        at = find(span, 45, at, span.size)
        if at >= span.size:
            return span.size
        if byte(span, at + 1) == 45:
            if byte(span, at + 2) == 62:
                return at + 3
            if byte(span, at + 2) == 33 and byte(span, at + 3) == 62:
                return at + 4
        at += 1


cdef int add_sheets(Span span, Buffer into) except -1:
    """All style sheets of a page, those within comments too."""
    cdef Py_ssize_t at = 0, end
    while True:
        at = find(span, 60, at, span.size)
        if at >= span.size:
            return 0
        at += 1
        if not stands(span, at, "style"):
            continue
        at += 5
        while at < span.size and byte(span, at) != 60 and byte(span, at) != 62:
            at += 1
        if byte(span, at) != 62:
            continue
        end = _sheet_end(span, at + 1)
        into.add(span, at + 1, end)
        at = end


cdef Py_ssize_t _sheet_end(Span span, Py_ssize_t at) noexcept:
    while True:
        at = find(span, 60, at, span.size)
        if at >= span.size or stands(span, at, "</style"):
            return at
        at += 1
