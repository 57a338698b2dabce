# cython: language_level=3
"""Tags, each by itself, as `deciban.mail.tags.read_tag` reads them."""

from deciban.mail import tags as python
from deciban.mail.colours import colour_of
from deciban.mail.html import MOST_LINKS as _MOST_LINKS

from deciban.mail.native.attributes cimport (
    ALT, BACKGROUND, BGCOLOR, CLASS, COLOR, HEIGHT, HREF, ID, SIZE, STYLE, WIDTH, Attributes, Range
)
from deciban.mail.native.buffers cimport Buffer
from deciban.mail.native.entities cimport Entities
from deciban.mail.native.marks cimport Marks
from deciban.mail.native.paints cimport NO_COLOUR, Paint, Paints
from deciban.mail.native.spans cimport Span, byte, find, is_letter, is_space, is_word, small, span_of
from deciban.mail.native.tag_names cimport TagNames, code_of, name_with

cdef int LONGEST_LINK = python.LONGEST_LINK
cdef enum:
    LONGEST_NAME = 31
    LONGEST_ALT = 200
    LONGEST_SIZE = 3
    FIRST_TELLING = 256  # names are known by their flags, and above them by their place among those that tell, from 1
if _MOST_LINKS != MOST_LINKS:
    raise ImportError(f"a page has at most {_MOST_LINKS} links, not {MOST_LINKS}")


def _known(telling):
    """What is known of each name."""
    known = {}
    sets = ((BREAKS, python.BREAKING), (EMPTY, python.EMPTY), (SILENT, python.SILENT), (GROUND, python.GROUNDS))
    for flag, names in sets:
        for name in names:
            known[name] = known.get(name, 0) | flag
    for place, name in enumerate(telling, start=1):
        known[name] = known.get(name, 0) | FIRST_TELLING * place
    return known


def _coloured(written):
    return False, colour_of(written), None


cdef class Tags:
    """Reads the tags of one page after another."""

    def __init__(self, Marks marks):
        self.marks, self.attributes = marks, Attributes(marks)
        self.names = TagNames(_known(marks.telling))
        self.font, self.img = code_of(b"font"), code_of(b"img")
        self.styles, self.colours = Paints(python._styled), Paints(_coloured)
        self.entities, self.spelled, self.named = Entities(), Buffer(), []

    cdef int begin_page(self) except -1:
        """Forget what the page before had."""
        self.marks.begin_page()
        self.spelled.size, self.n_links, self.strange = 0, 0, False
        self.named.clear()
        return 0

    cdef int read(self, Span span, int begin, int end, Tag* tag) except -1:
        """What stands between two angles; its marks and links are noted for the page."""
        cdef int known = self._read_name(span, begin, end, tag)
        if tag.flags & (NOTHING | CLOSES):
            return 0
        if known >= FIRST_TELLING:
            self.marks.tell(known // FIRST_TELLING - 1)
        if not self.attributes.read(span, begin, end):
            return self._read_by_python(span, begin, end, tag)
        self._paint(span, tag)
        self._take_links(span)
        self._take_small_marks(span, tag)
        self._take_alt(span, tag)
        tag.classes, tag.id = self.attributes.given[CLASS], self.attributes.given[ID]
        return 0

    cdef int _read_name(self, Span span, int begin, int end, Tag* tag) noexcept:
        """Who it is, and nothing else yet; what is known of that name."""
        cdef int i = begin, c, known
        tag.flags, tag.code, tag.colour, tag.ground, tag.named = 0, 0, NO_COLOUR, NO_COLOUR, 0
        tag.alt.end = tag.classes.end = tag.id.end = -1
        if byte(span, i) == 47:
            tag.flags = CLOSES
            i += 1
        tag.name.begin = tag.name.end = i
        if i >= end or not is_letter(byte(span, i)):
            tag.flags = NOTHING
            return 0
        while i < end and i - tag.name.begin < LONGEST_NAME:
            c = byte(span, i)
            if not (is_word(c) or c == 45 or c == 58):
                self.strange = self.strange or c >= 128
                break
            tag.code = name_with(tag.code, c)
            i += 1
        tag.name.end = i
        known = max(self.names.number(tag.code), 0)
        tag.flags |= known % FIRST_TELLING
        return known

    cdef int _paint(self, Span span, Tag* tag) except -1:
        """Its colours, and whether it hides."""
        cdef Paint paint
        cdef Range style = self.attributes.given[STYLE], size = self.attributes.given[SIZE]
        cdef Range color = self.attributes.given[COLOR]
        if style.end >= 0:
            self.styles.find(span, style.begin, style.end, &paint)
            tag.colour, tag.ground = paint.colour, paint.ground
            tag.flags |= HIDES if paint.hides else 0
        if tag.code == self.font and size.end == size.begin + 1 and byte(span, size.begin) == 48:
            tag.flags |= HIDES
        if tag.colour == NO_COLOUR and color.end >= 0:
            self.colours.find(span, color.begin, color.end, &paint)
            tag.colour = paint.colour
        if tag.ground == NO_COLOUR:
            self._paint_ground(span, tag)
        if tag.flags & HIDES:
            self.marks.add("html:hidden:style")
        self.marks.add_colour("html:color:", tag.colour)
        return self.marks.add_colour("html:ground:", tag.ground)

    cdef int _paint_ground(self, Span span, Tag* tag) except -1:
        cdef Paint paint
        cdef Range bgcolor = self.attributes.given[BGCOLOR]
        if self.attributes.has(BACKGROUND):
            tag.ground = -1
        elif bgcolor.end >= 0:
            self.colours.find(span, bgcolor.begin, bgcolor.end, &paint)
            tag.ground = paint.colour
        return 0

    cdef int _take_links(self, Span span) except -1:
        """Where it leads, and whether it asks for a letter."""
        cdef int which, n = self.n_links
        for which in range(HREF, BACKGROUND + 1):  # all that lead somewhere
            if not self.attributes.has(which):
                continue
            self._take_link(span, self.attributes.given[which])
            if which == HREF and n < self.n_links <= MOST_LINKS and self._is_mailto(span, self.links[n]):
                self.marks.add("html:mailto")
        return 0

    cdef int _take_link(self, Span span, Range value) except -1:
        """A link, unless it leads to a place of this page."""
        cdef int begin = value.begin, end = value.end, spelled = self.spelled.size
        while begin < end and is_space(byte(span, begin)):
            begin += 1
        while begin < end and is_space(byte(span, end - 1)):
            end -= 1
        end = min(end, begin + LONGEST_LINK)
        if find(span, 38, begin, end) == end:
            return self._add_link(begin, end, False) if begin < end and byte(span, begin) != 35 else 0
        self.entities.spell(span, begin, end, self.spelled, False)
        if self.spelled.size > spelled and byte(self.spelled.span(), spelled) != 35:
            self._add_link(spelled, self.spelled.size, True)
        return 0

    cdef int _add_link(self, int begin, int end, bint moved) except -1:
        if self.n_links < MOST_LINKS:
            self.links[self.n_links].at = Range(begin, end)
            self.links[self.n_links].moved = moved
        self.n_links += 1
        return 0

    cdef bint _is_mailto(self, Span span, Link link) noexcept:
        cdef const char* scheme = "mailto:"
        cdef int i
        if link.moved:
            span = self.spelled.span()
        for i in range(7):
            if link.at.begin + i >= link.at.end or small(byte(span, link.at.begin + i)) != scheme[i]:
                return False
        return True

    cdef int _take_small_marks(self, Span span, Tag* tag) except -1:
        """Pixels that report a reading, and sizes of letters."""
        cdef Range size = self.attributes.given[SIZE]
        cdef int end = min(size.end, size.begin + LONGEST_SIZE)
        if (
            tag.code == self.img
            and _is_pixel(span, self.attributes.given[WIDTH])
            and _is_pixel(span, self.attributes.given[HEIGHT])
        ):
            self.marks.add("html:pixel")
        if tag.code == self.font and size.end >= 0:
            self.marks.add_written("html:size:", span, size.begin, end)
        return 0

    cdef int _take_alt(self, Span span, Tag* tag) except -1:
        """What is shown where a picture is not."""
        cdef Range alt = self.attributes.given[ALT]
        alt.end = min(alt.end, alt.begin + LONGEST_ALT)
        if alt.end >= 0 and find(span, 38, alt.begin, alt.end) < alt.end:
            tag.flags |= MOVED
            tag.alt.begin = self.spelled.size
            self.entities.spell(span, alt.begin, alt.end, self.spelled, False)
            tag.alt.end = self.spelled.size
        else:
            tag.alt = alt
        return 0

    cdef int _read_by_python(self, Span span, int begin, int end, Tag* tag) except -1:
        """The same for a tag that is not usual."""
        read = python.tag_of(span.start[max(begin, 0) : min(end, span.size)].decode("utf-8", "replace"))
        tag.flags |= HIDES if read.hides else 0
        tag.colour = NO_COLOUR if read.colour is None else read.colour
        tag.ground = NO_COLOUR if read.ground is None else read.ground
        for mark in read.marks:
            self.marks.add_str(mark)
        for link in read.links:
            begin = self.spelled.size
            self._spell(link)
            self._add_link(begin, self.spelled.size, True)
        if len(read.space) > 1:
            tag.flags |= MOVED
            tag.alt.begin = self.spelled.size
            self._spell(read.space[1 : len(read.space) - 1])
            tag.alt.end = self.spelled.size
        if read.named:
            self.named.append(read.named)
            tag.named = len(self.named)
        return 0

    cdef int _spell(self, str text) except -1:
        cdef bytes letters = text.encode("utf-8", "replace")
        return self.spelled.add(span_of(letters), 0, len(letters))


cdef inline bint _is_pixel(Span span, Range value) noexcept:
    return value.end == value.begin + 1 and 48 <= byte(span, value.begin) <= 49
