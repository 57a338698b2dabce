# cython: language_level=3
"""Tokens as numbers, as `deciban.mail.numbering.Numbering` gives them."""

from array import array

from libc.stdint cimport uint32_t
from deciban.mail.decoding import SHIFTING, codec_of
from deciban.mail.header_tokens import header_tokens
from deciban.mail.html import Page
from deciban.mail.message import head_and_body, headers_in, read_message, read_part, room_for
from deciban.mail.native.digests cimport digest_of
from deciban.mail.native.heads cimport Heads
from deciban.mail.native.pages cimport Pages
from deciban.mail.native.table cimport Table
from deciban.mail.native.texts cimport Texts
from deciban.mail.numbering import MOST_WORDS
from deciban.mail.part import MARKUP, MOST_TEXT, Part, content_of
from deciban.mail.reading import USUAL
from deciban.mail.tokens import MOST_TOKENS, part_tokens, said_cut, shape_tokens, tokens_of

cdef enum:
    MOST_KINDS = 1000

PACKED = ("base64", "quoted-printable")


def unread(source):
    """A page as it is written: it is read when its tokens are taken."""
    return Page(source, "", (), ())


cdef class Numbering:
    """Reads messages in the usual way, and numbers their tokens as they are met."""

    cdef Table table
    cdef Heads heads
    cdef Pages pages
    cdef Texts texts
    cdef dict kinds
    cdef size_t told

    def __init__(self):
        self._begin()

    cdef int _begin(self) except -1:
        self.table = Table()
        self.heads, self.pages, self.texts = Heads(self.table), Pages(self.table), Texts(self.table)
        self.kinds = {}
        self.told = 0
        return 0

    def said(self, raws, bint digests=True):
        """What some messages hold; words that were told before are not told again."""
        cdef bint fresh = self.told == 0
        if self.table.n > MOST_WORDS:
            self._begin()
            fresh = True
        cdef list known = [], sizes = []
        cdef dict cut = {}
        cdef size_t before
        cdef bytes raw
        self.table.n_said = 0  # what was read when something went wrong has no part in this
        for raw in raws:
            if digests:
                known.append(digest_of(raw))
            before = self.table.n_said
            left_out = self._read(raw)
            if left_out:
                cut[len(sizes)] = left_out
            sizes.append(self.table.n_said - before)
        return fresh, self._new_words(), b"".join(known), array("I", sizes).tobytes(), self._numbers(), cut

    cdef tuple _read(self, bytes raw):
        """Note the tokens of a message; what bounds left out of it, in words."""
        cdef size_t before = self.table.n_said
        self.table.begin_message()
        room, start = room_for(raw, unread)
        head, body = head_and_body(room, start, len(room.raw))
        given = self.heads.read(head)
        if given is None:
            headers = headers_in(room, head)
            self._note(header_tokens(headers, USUAL))
            given = dict(reversed(headers))
        content = content_of(given)
        if not self._read_plain(room.raw, content, body):
            read_part(room, content, body, len(room.raw), 0)
            self._read_parts(room.parts)
        if self.table.n_said - before >= MOST_TOKENS:
            return self._read_most(raw, before)
        return tuple(room.cut)

    cdef int _note(self, tokens) except -1:
        for token in tokens:
            self.table.emit_str(token)
        return 0

    cdef bint _read_plain(self, bytes raw, content, Py_ssize_t begin) except -1:
        """Whether a message is one text of plain ASCII, written as it is; then it is read."""
        kind, parameters, encoding, name, attached = content
        if kind not in ("", "text/plain") or encoding in PACKED or name or attached:
            return False
        charset = parameters.get("charset", "")
        if len(raw) - begin > MOST_TEXT or (charset and codec_of(charset) in SHIFTING):
            return False
        cdef bytes body = raw[begin:]
        if not body.isascii() or b"\0" in body or b"\x1b" in body or b"begin " in body or MARKUP.match(body):
            return False
        self._note_kind((kind or "text/plain", charset.lower(), encoding))
        self.texts.read(body)
        return True

    cdef int _read_parts(self, list parts) except -1:
        cdef list texts = [], kinds = []
        cdef bytes shown
        for part in parts:
            if part.name or part.kind == "attachment":
                self._note(part_tokens(part, USUAL))
            else:
                self._note_kind((part.type, part.charset, part.encoding))
            kinds.append(part.kind)
            if part.kind == "html":
                shown = self.pages.read(part.text)
                self.texts.read(shown)
                texts.append(shown.decode())
            else:
                if part.kind == "text":
                    self.texts.read(part.text.encode())
                texts.append(part.text)
        return self._note(shape_tokens(kinds, texts))

    cdef int _note_kind(self, tuple kind) except -1:
        """What a part without a name is: its type, charset and encoding, which are remembered."""
        numbers = self.kinds.get(kind)
        if numbers is None:
            if len(self.kinds) >= MOST_KINDS:
                self.kinds.clear()
            tokens = part_tokens(Part("text", "", "", kind[0], 0, kind[1], kind[2]), USUAL)
            numbers = self.kinds[kind] = [self.table.number_of(token) for token in tokens]
        for number in numbers:
            self.table.emit_number(number)
        return 0

    cdef tuple _read_most(self, bytes raw, size_t before):
        """A message of more tokens than are wanted: the first of them, as Python gives them."""
        self.table.n_said = before
        self.table.begin_message()
        message = read_message(raw)
        cdef list tokens = tokens_of(message, USUAL)
        self._note(tokens)
        return said_cut(message, tokens)

    cdef str _new_words(self):
        """Tokens that have numbers since this was asked last, one a line."""
        cdef size_t begin = self.told, end = self.table.used
        self.told = end
        return self.table.letters[begin : end - 1].decode() if end > begin else ""

    cdef bytes _numbers(self):
        """The numbers of all tokens noted, which are forgotten."""
        cdef bytes numbers = (<const char*> self.table.said)[: self.table.n_said * sizeof(uint32_t)]
        self.table.n_said = 0
        return numbers
