# cython: language_level=3
"""What text of a page is kept from sight, as `deciban.mail.html` finds it."""

from deciban.mail.html import DEEPEST as _DEEPEST
from deciban.mail.html import STYLED_GROUND
from deciban.mail.tags import _names

from deciban.mail.native.paints cimport NO_COLOUR, alike
from deciban.mail.native.spans cimport Span, byte, small
from deciban.mail.native.tag_names cimport LONG_NAME, code_of
from deciban.mail.native.tags cimport CLOSES, EMPTY, GROUND, HIDES, Tag, Tags

cdef enum:
    WHITE = 0xFFFFFF
    NOT_KNOWN = -1
if _DEEPEST != DEEPEST:
    raise ImportError(f"at most {_DEEPEST} grounds lie upon one another, not {DEEPEST}")


cdef class View:
    """A walk past the tags of a page: what is open that hides or colours the ground."""

    def __init__(self, Tags tags):
        self.tags = tags
        self.body = code_of(b"body")

    cdef int begin_page(self, Span span, object hiding) except -1:
        """Nothing is open; `hiding` are the names that style sheets hide."""
        self.span, self.hiding = span, hiding
        self.hides, self.depth, self.n_grounds, self.painted = False, 0, 0, NOT_KNOWN

    cdef int pass_by(self, Tag* tag) except -1:
        """What a tag changes for the text after it."""
        if tag.flags & CLOSES:
            self._close(tag)
        elif not tag.flags & EMPTY:
            self._open(tag)

    cdef int _open(self, Tag* tag) except -1:
        if tag.flags & GROUND and self.n_grounds < DEEPEST and (tag.ground != NO_COLOUR or self.n_grounds):
            self.ground_tags[self.n_grounds] = tag[0]
            if tag.ground == NO_COLOUR:
                self.ground_tags[self.n_grounds].ground = self.ground_tags[self.n_grounds - 1].ground
            self.n_grounds += 1
        if self.hides:
            self.depth += self._same(tag, &self.hider)
        elif self._is_hidden(tag):
            self.hides, self.hider, self.depth = True, tag[0], 1

    cdef bint _is_hidden(self, Tag* tag) except -1:
        """Whether something keeps its text from sight, which is then marked."""
        cdef int ground
        if tag.flags & HIDES:
            self.tags.marks.add("html:hidden:style")
            return True
        if self.hiding is not None and self._is_named(tag):
            self.tags.marks.add("html:hidden:sheet")
            return True
        if tag.colour == NO_COLOUR or tag.code == self.body:
            return False
        ground = self.ground_tags[self.n_grounds - 1].ground if self.n_grounds else WHITE
        if alike(tag.colour, ground) and not self._is_painted():
            self.tags.marks.add("html:hidden:colour")
            return True
        return False

    cdef bint _is_named(self, Tag* tag) except -1:
        """Whether style sheets hide one of its classes, or its id."""
        cdef dict given = {}
        if tag.named:
            return not self.hiding.isdisjoint(self.tags.named[tag.named - 1])
        if tag.classes.end >= 0:
            given["class"] = self._text(tag.classes.begin, tag.classes.end)
        if tag.id.end >= 0:
            given["id"] = self._text(tag.id.begin, tag.id.end)
        return bool(given) and not self.hiding.isdisjoint(_names(given))

    cdef bint _is_painted(self) except -1:
        """Whether a style sheet may have painted the ground."""
        if self.painted == NOT_KNOWN:
            self.painted = STYLED_GROUND.search(self._text(0, self.span.size)) is not None
        return self.painted

    cdef int _close(self, Tag* tag) noexcept:
        if self.n_grounds and self._same(tag, &self.ground_tags[self.n_grounds - 1]):
            self.n_grounds -= 1
        if self.hides and self._same(tag, &self.hider):
            self.depth -= 1
            self.hides = self.depth > 0

    cdef bint _same(self, Tag* one, Tag* other) noexcept:
        """Whether two tags have one name."""
        cdef int i, size = one.name.end - one.name.begin
        if one.code != LONG_NAME or other.code != LONG_NAME:
            return one.code == other.code
        if size != other.name.end - other.name.begin:
            return False
        for i in range(size):
            if small(byte(self.span, one.name.begin + i)) != small(byte(self.span, other.name.begin + i)):
                return False
        return True

    cdef str _text(self, int begin, int end):
        begin, end = max(begin, 0), min(end, self.span.size)
        return self.span.start[begin:end].decode("utf-8", "replace") if begin < end else ""
