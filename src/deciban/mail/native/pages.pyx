# cython: language_level=3
"""Pages of HTML, as `deciban.mail.html.page_of` reads them, with the tokens that are taken of them."""

from deciban.mail.html import MOST_MARKS as _MOST_MARKS
from deciban.mail.html import page_of
from deciban.mail.reading import USUAL
from deciban.mail.style_sheets import hiding_names
from deciban.mail.tokens import cleaner_of
from deciban.mail.words import LONGEST_TOKEN, split_words

from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport uint64_t
from deciban.mail.native.buffers cimport Buffer
from deciban.mail.native.comments cimport add_sheets, add_without_comments
from deciban.mail.native.links cimport emit_link
from deciban.mail.native.marks cimport Marks
from deciban.mail.native.spans cimport Span, byte, find, is_letter, span_of
from deciban.mail.native.table cimport Table
from deciban.mail.native.tags cimport BREAKS, CLOSES, MOST_LINKS, MOVED, SILENT, Link, Tag, Tags
from deciban.mail.native.views cimport View

cdef int MOST_MARKS = _MOST_MARKS
cdef enum:
    LONGEST_PAGE = 1 << 28
    MOST_SHEETS = 200
    LONGEST_SHEETS = 1 << 15
    FEWEST_TAGS = 256


cdef class Pages:
    """Reads one page after another."""

    def __cinit__(self, Table table not None):
        self.table, self.marks = table, Marks()
        self.tags = Tags(self.marks)
        self.view = View(self.tags)
        self.plain, self.shown, self.hidden, self.spelled = Buffer(), Buffer(), Buffer(), Buffer()
        self.style = self.marks.telling.index("style")
        self.sheets = {}

    def __dealloc__(self):
        PyMem_Free(self.passed)

    cdef bytes read(self, str source):
        """Note the tokens of a page; its shown text, in UTF-8."""
        if not self._read(source):
            return self._by_python(source)
        if self.hidden.size:
            self._emit_hidden(self._spelled(self.hidden).decode("utf-8", "replace").strip())
        return self._spelled(self.shown)

    cdef bint _read(self, str source) except -1:
        """Whether a page could be read and its marks and links noted; nothing was if not."""
        cdef Span whole, span
        cdef object hiding = None
        if not source.isascii() and ("\u017f" in source or "\u212a" in source):  # to Python an s and a k in tags
            return False
        whole.start = <const unsigned char*> PyUnicode_AsUTF8AndSize(source, &whole.size)
        if whole.size > LONGEST_PAGE:
            return False
        self.tags.begin_page()
        span = whole
        if "<!--" in source:
            self.marks.add("html:comment")
            self.plain.size = 0
            add_without_comments(whole, self.plain)
            span = self.plain.span()
        self._walk(span)
        if self.marks.tells(self.style):
            hiding = self._hiding_names(whole)
        self.view.begin_page(span, hiding)
        self._show(span)
        if self.tags.strange or self.tags.n_links > MOST_LINKS or self.marks.count() > MOST_MARKS:
            return False
        self._emit(span)
        return True

    cdef int _walk(self, Span span) except -1:
        """Read all tags, each with the text after it; the first is none, before the first text."""
        cdef Py_ssize_t at = 0, begin, end
        cdef int c
        cdef Tag* tag
        self.n_passed = 0
        tag = self._next()
        tag.flags, tag.code, tag.alt.end = 0, 0, -1
        tag.text.begin = 0
        while True:
            at = find(span, 60, at, span.size)
            if at >= span.size:
                break
            begin = at + 1
            c = byte(span, begin)
            if not (is_letter(c) or c == 47 or c == 33 or c == 63):
                at = begin
                continue
            tag.text.end = at
            end = _tag_end(span, begin)
            tag = self._next()
            self.tags.read(span, begin, end, tag)
            at = end + 1 if byte(span, end) == 62 else end
            tag.text.begin = at
        tag.text.end = span.size

    cdef Tag* _next(self) except NULL:
        """Room for one more tag; what was given before may move."""
        cdef void* more
        cdef int room
        if self.n_passed == self.room:
            room = max(2 * self.room, FEWEST_TAGS)
            more = PyMem_Realloc(self.passed, room * sizeof(Tag))
            if more == NULL:
                raise MemoryError
            self.passed, self.room = <Tag*> more, room
        self.n_passed += 1
        return &self.passed[self.n_passed - 1]

    cdef object _hiding_names(self, Span whole):
        """The names that the style sheets of a page hide, remembered; None if there are none."""
        cdef bytes sheets
        self.spelled.size = 0
        add_sheets(whole, self.spelled)
        sheets = self.spelled.letters[: self.spelled.size]
        if sheets in self.sheets:
            return self.sheets[sheets]
        names = hiding_names(f"<style>{sheets.decode('utf-8', 'replace')}") or None
        if len(sheets) <= LONGEST_SHEETS:
            if len(self.sheets) >= MOST_SHEETS:
                self.sheets.clear()
            self.sheets[sheets] = names
        return names

    cdef int _show(self, Span span) except -1:
        """Write what is seen and what is not. Scripts and style sheets are no text, nor are there tags in them."""
        cdef uint64_t silent = 0
        cdef int i
        cdef Tag* tag
        self.shown.size = self.hidden.size = 0
        self.shown.add(span, self.passed[0].text.begin, self.passed[0].text.end)
        for i in range(1, self.n_passed):
            tag = &self.passed[i]
            if silent:
                if not (tag.flags & CLOSES and tag.code == silent):
                    self._show_text(span, tag, True)
                    continue
                silent = 0
            elif tag.flags & SILENT and not tag.flags & CLOSES:
                silent = tag.code
            self._show_tag(span, tag)
            self._show_text(span, tag, silent != 0)

    cdef int _show_tag(self, Span span, Tag* tag) except -1:
        """Write what stands in place of a tag."""
        self.view.pass_by(tag)
        if tag.alt.end < 0:
            if tag.flags & BREAKS:
                self.shown.put(32)
            return 0
        self.shown.put(32)
        self.shown.add(self.tags.spelled.span() if tag.flags & MOVED else span, tag.alt.begin, tag.alt.end)
        self.shown.put(32)

    cdef int _show_text(self, Span span, Tag* tag, bint muted) except -1:
        """Write the text after a tag to where it belongs; muted, it is none."""
        if not self.view.hides:
            if not muted:
                self.shown.add(span, tag.text.begin, tag.text.end)
            return 0
        if self.hidden.size:
            self.hidden.put(32)
        if not muted:
            self.hidden.add(span, tag.text.begin, tag.text.end)

    cdef int _emit(self, Span span) except -1:
        """Note the marks and links of a page."""
        cdef Link link
        cdef Span spelled = self.tags.spelled.span()
        cdef int i
        self.marks.emit(self.table)
        for i in range(min(self.tags.n_links, MOST_LINKS)):
            link = self.tags.links[i]
            emit_link(self.table, spelled if link.moved else span, link.at.begin, link.at.end)
        return 0

    cdef bytes _spelled(self, Buffer text):
        """What was written, with its entities read."""
        cdef Span span = text.span()
        if find(span, 38, 0, span.size) == span.size:
            return text.letters[: text.size]
        self.spelled.size = 0
        self.tags.entities.spell(span, 0, span.size, self.spelled, True)
        return self.spelled.letters[: self.spelled.size]

    cdef int _emit_hidden(self, str hidden) except -1:
        for word in cleaner_of(USUAL).all(split_words(hidden)):
            self.table.emit_str(f"hidden:{word}"[:LONGEST_TOKEN])

    cdef bytes _by_python(self, str source):
        """The same for a page that is not usual."""
        cdef bytes link
        page = page_of(source)
        for mark in page.tags:
            self.table.emit_str(f"html:{mark}"[:LONGEST_TOKEN])
        for each in page.links:
            link = each.encode("utf-8", "replace")
            emit_link(self.table, span_of(link), 0, len(link))
        self._emit_hidden(page.hidden)
        return page.text.encode("utf-8", "replace")


cdef Py_ssize_t _tag_end(Span span, Py_ssize_t at) noexcept nogil:
    """Where the next angle stands, of either kind."""
    while at < span.size and byte(span, at) != 60 and byte(span, at) != 62:
        at += 1
    return at
