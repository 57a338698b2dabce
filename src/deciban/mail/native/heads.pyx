# cython: language_level=3
"""Heads of messages: all tokens of their headers, as `deciban.mail.header_tokens` gives them."""

from deciban.mail.header_tokens import EXPECTED, header_tokens
from deciban.mail.headers import fields_of
from deciban.mail.message import LONGEST_VALUE as _LONGEST_VALUE
from deciban.mail.message import MOST_HEADERS as _MOST_HEADERS
from deciban.mail.native.addresses cimport reply_token, take_recipients, take_sender
from deciban.mail.native.lines cimport LONGEST_LINE, Line, is_plain, line_end
from deciban.mail.native.names cimport (
    BY_PYTHON, CONTENT, DATE, KIND, LEFT_OUT, LIST, MAILER, MARKS, MESSAGE_ID, NO_MARK, NOTHING, PRIORITY, RECEIVED,
    RECIPIENTS, REPLY_TO, RESULTS, SENDER, SIGNATURE, SPF, SUBJECT, Name, Names,
)
from deciban.mail.native.names import CONTENTS
from deciban.mail.native.received cimport take_hop
from deciban.mail.native.spans cimport Span, byte, span_of
from deciban.mail.native.subjects cimport take_subject
from deciban.mail.native.table cimport Table
from deciban.mail.native.takers cimport (
    take_date, take_kind, take_list, take_mailer, take_message_id, take_priority, take_results, take_signature,
    take_spf,
)
from deciban.mail.received import MOST_HOPS as _MOST_HOPS
from deciban.mail.received import hop_tokens
from deciban.mail.reading import USUAL

cdef int LONGEST_VALUE = _LONGEST_VALUE
cdef int MOST_HEADERS = _MOST_HEADERS
cdef int MOST_HOPS = _MOST_HOPS


cdef bint is_usual(Span head) noexcept:
    """Whether a head is of few lines, none very long, and of ASCII without other controls than tabs and line feeds.

    Each of its values then is short enough to be read to its end.
    """
    cdef int lines = 0
    cdef Py_ssize_t begin = 0, stop
    if not is_plain(head):
        return False
    while begin < head.size:
        stop = line_end(head, begin, head.size)
        lines += 1
        if lines > MOST_HEADERS or stop - begin > min(<int> LONGEST_LINE, LONGEST_VALUE):
            return False
        begin = stop + 1
    return True


cdef class Heads:
    """What heads say."""

    def __init__(self, Table table):
        self.table = table
        self.names = Names(table)
        self.line, self.answer = Line(), Line()

    cdef dict read(self, bytes raw):
        """Note the tokens of a head; the first values of the headers that say what the message is.

        None, and nothing is noted, if it is not a usual one.
        """
        cdef Span head = span_of(raw)
        cdef Py_ssize_t begin = 0, stop
        cdef int mark
        if not is_usual(head):
            return None
        self.hops = self.passed = 0
        for mark in range(MARKS):
            self.begins[mark] = -1
        while begin < head.size:
            stop = line_end(head, begin, head.size)
            self._read_line(head, begin, stop)
            begin = stop + 1
        self._finish(head)
        return self._contents(head)

    cdef int _read_line(self, Span head, Py_ssize_t begin, Py_ssize_t end) except -1:
        cdef Py_ssize_t value = 0
        cdef int number = self.names.number_of(head, begin, end, &value)
        if number == 0:
            return 0
        cdef Name name = self.names.known[number]
        if name.mark != NO_MARK and self.begins[name.mark] < 0:
            self.begins[name.mark], self.ends[name.mark] = value, end
        if name.taker == LEFT_OUT:
            return 0
        if name.taker == RECEIVED:
            return self._take_hop(head, value, end)
        self.table.emit_number(name.header)
        if name.taker == NOTHING:
            return 0
        if name.taker == BY_PYTHON or self.line.unfold(head, value, end):
            return self._take_by_python(head, begin, end)
        return self._take(name, <bytes> self.names.prefixes[number])

    cdef int _take(self, Name name, const char* prefix) except -1:
        """The tokens of the value at hand."""
        cdef Table table = self.table
        cdef Span value = self.line.span()
        if name.taker == SENDER:
            take_sender(table, prefix, value)
        elif name.taker == RECIPIENTS:
            take_recipients(table, prefix, value)
        elif name.taker == SUBJECT:
            take_subject(table, value)
        elif name.taker == MESSAGE_ID:
            take_message_id(table, value)
        elif name.taker == DATE:
            take_date(table, value)
        elif name.taker == LIST:
            take_list(table, value)
        elif name.taker == KIND:
            take_kind(table, prefix, value)
        elif name.taker == MAILER:
            take_mailer(table, value)
        elif name.taker == PRIORITY:
            take_priority(table, prefix, value)
        elif name.taker == RESULTS:
            take_results(table, value)
        elif name.taker == SPF:
            take_spf(table, value)
        elif name.taker == SIGNATURE:
            take_signature(table, value)

    cdef int _take_by_python(self, Span head, Py_ssize_t begin, Py_ssize_t end) except -1:
        """The tokens of a header that has encoded words in it, or is of a new kind."""
        cdef str name, value, token
        for name, value in fields_of(head.start[begin:end]):
            for token in self.names.takers[name](name, value):
                self.table.emit_str(token)

    cdef int _take_hop(self, Span head, Py_ssize_t begin, Py_ssize_t end) except -1:
        self.hops += 1
        if self.hops > MOST_HOPS:
            return 0
        while begin < end and byte(head, begin) <= 32:
            begin += 1
        if byte(head, begin) not in b"fF=":  # neither "from", nor encoded
            return 0
        if not self.line.unfold(head, begin, end):
            self.passed += take_hop(self.table, self.line.span())
            return 0
        cdef list tokens = hop_tokens([_decoded(head, begin, end)])
        self.passed += tokens.pop() == "received:hops:1"
        for token in tokens:
            self.table.emit_str(token)

    cdef int _finish(self, Span head) except -1:
        """What all headers together tell: how many hops there were, which headers are not there, who is answered."""
        cdef int mark
        if self.hops:
            self.table.token.begin(b"received:hops:")
            self.table.token.number(self.passed)
            self.table.emit_token()
        for mark in range(REPLY_TO):
            if self.begins[mark] < 0:
                self.table.emit_str(f"no:{EXPECTED[mark]}")
        if self.begins[REPLY_TO] >= 0 and self.begins[0] >= 0:
            self._take_reply(head)

    cdef int _take_reply(self, Span head) except -1:
        """Where answers go, by the first From, which is the first of the marked ones, and the first Reply-To."""
        cdef bint coded = self.answer.unfold(head, self.begins[REPLY_TO], self.ends[REPLY_TO])
        coded = self.line.unfold(head, self.begins[0], self.ends[0]) or coded
        if not coded:
            return self.table.emit_word(reply_token(self.answer.span(), self.line.span()))
        cdef list both = [("reply-to", self._value(head, REPLY_TO)), ("from", self._value(head, 0))]
        for token in header_tokens(both, USUAL):
            if token.startswith("reply:"):
                self.table.emit_str(token)

    cdef dict _contents(self, Span head):
        cdef dict contents = {}
        cdef int mark
        for mark in range(CONTENT, MARKS):
            if self.begins[mark] >= 0:
                contents[CONTENTS[mark - CONTENT]] = self._value(head, mark)
        return contents

    cdef str _value(self, Span head, int mark):
        """The first value of a marked header."""
        if self.line.unfold(head, self.begins[mark], self.ends[mark]):
            return _decoded(head, self.begins[mark], self.ends[mark])
        return self.line.letters[: self.line.size].decode("ascii")


cdef str _decoded(Span head, Py_ssize_t begin, Py_ssize_t end):
    """A value as Python decodes it."""
    return fields_of(b"x:" + head.start[begin:end])[0][1]
