from libc.stdint cimport uint32_t
from deciban.mail.native.spans cimport Span
from deciban.mail.native.table cimport Table

cdef enum:
    MOST_NAMES = 2000

cdef enum:  # what is taken of a header
    LEFT_OUT, NOTHING, SUBJECT, SENDER, RECIPIENTS, MESSAGE_ID, MAILER, PRIORITY, KIND, DATE, LIST, RESULTS, SPF
    SIGNATURE, RECEIVED, BY_PYTHON

cdef enum:  # headers that are asked for later
    NO_MARK = -1
    REPLY_TO = 5
    CONTENT = 6
    MARKS = 9

cdef struct Name:
    int taker
    int mark
    uint32_t header

cdef class Names:
    cdef Table table, met
    cdef object takers
    cdef Name known[MOST_NAMES]
    cdef list prefixes
    cdef uint32_t n

    cdef int number_of(self, Span head, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t* value) except -1
    cdef int _forget(self) except -1
    cdef int _learn(self) except -1
