# cython: language_level=3
"""Names of headers: what is taken of each, asked of `deciban.mail.header_tokens` when a name is first met."""

from deciban.mail import takers
from deciban.mail.header_tokens import EXPECTED, Takers
from deciban.mail.header_tokens import LONGEST_NAME as _LONGEST_NAME
from deciban.mail.native.spans cimport Span, byte, small
from deciban.mail.native.table cimport Table
from deciban.mail.reading import USUAL

cdef int LONGEST_NAME = _LONGEST_NAME

TAKERS = {
    None: LEFT_OUT,
    takers.nothing: NOTHING,
    takers.subject: SUBJECT,
    takers.sender: SENDER,
    takers.recipients: RECIPIENTS,
    takers.message_id: MESSAGE_ID,
    takers.mailer: MAILER,
    takers.priority: PRIORITY,
    takers.kind: KIND,
    takers.date: DATE,
    takers.mailing_list: LIST,
    takers.results: RESULTS,
    takers.spf: SPF,
    takers.signature: SIGNATURE,
}
CONTENTS = ("content-type", "content-transfer-encoding", "content-disposition")
"""What the parts of a message are read by."""
MARKED = {name: i for i, name in enumerate((*EXPECTED, "reply-to", *CONTENTS))}
if MARKED["reply-to"] != REPLY_TO or len(MARKED) != MARKS:
    raise ImportError("other headers are expected than those that are marked")

cdef unsigned char IN_NAME[256]
for _c in range(256):
    IN_NAME[_c] = 33 <= _c <= 126 and _c != 58


cdef class Names:
    """Numbers of names, and what is known of each; when there are too many all are forgotten."""

    def __init__(self, Table table):
        self.table = table
        self.takers = Takers(USUAL)
        self._forget()

    cdef int _forget(self) except -1:
        self.met = Table()
        self.prefixes = [b""]
        self.n = 1

    cdef int number_of(self, Span head, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t* value) except -1:
        """The number of the name of a line, and where its value begins; 0 if it has none, or too long a one."""
        cdef Py_ssize_t at = begin
        cdef uint32_t number
        if self.n >= MOST_NAMES:
            self._forget()
        self.met.token.size = 0
        while at < end and IN_NAME[byte(head, at)]:
            self.met.token.put(small(byte(head, at)))
            at += 1
        if not 0 < at - begin <= LONGEST_NAME:
            return 0
        while at < end and byte(head, at) in b" \t\n":
            at += 1
        if at >= end or byte(head, at) != 58:
            return 0
        value[0] = at + 1
        number = self.met._number(self.met.token.letters, self.met.token.size)
        if number >= self.n:
            try:
                self._learn()
            except BaseException:
                self._forget()  # numbers and what is known of them must not fall out of step
                raise
        return number

    cdef int _learn(self) except -1:
        """Find out about the name at hand, which is the last that was met."""
        cdef Name* name = &self.known[self.n]
        cdef bytes written = self.met.token.letters[: self.met.token.size]
        cdef str text = written.decode("ascii")
        name.mark = MARKED.get(text, NO_MARK)
        name.taker = RECEIVED if text == "received" else TAKERS.get(self.takers._taker(text), BY_PYTHON)
        name.header = 0
        if name.taker != LEFT_OUT and name.taker != RECEIVED:
            name.header = self.table.number_of(f"header:{text}")
        self.prefixes.append(written + b":")
        self.n += 1
