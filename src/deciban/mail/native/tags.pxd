from libc.stdint cimport uint64_t
from deciban.mail.native.attributes cimport Attributes, Range
from deciban.mail.native.buffers cimport Buffer
from deciban.mail.native.entities cimport Entities
from deciban.mail.native.marks cimport Marks
from deciban.mail.native.paints cimport Paints
from deciban.mail.native.spans cimport Span
from deciban.mail.native.tag_names cimport TagNames

cdef enum:
    MOST_LINKS = 300

cdef enum:  # what is known of a tag
    BREAKS = 1
    EMPTY = 2
    SILENT = 4
    GROUND = 8
    CLOSES = 16
    HIDES = 32
    NOTHING = 64
    MOVED = 128  # what is shown in its place stands among `spelled`

cdef struct Link:
    Range at
    bint moved

cdef struct Tag:
    Range text  # what follows it
    Range name
    uint64_t code
    int flags
    int colour
    int ground
    Range alt
    Range classes
    Range id
    int named  # the place of its classes and id among `named`, from 1, where Python read it

cdef class Tags:
    cdef Marks marks
    cdef Attributes attributes
    cdef TagNames names
    cdef Paints styles, colours
    cdef Entities entities
    cdef Buffer spelled
    cdef list named
    cdef Link links[MOST_LINKS]
    cdef int n_links  # more than there are places for, if there are more
    cdef uint64_t font, img
    cdef bint strange  # whether a page has names of tags that only Python can read

    cdef int begin_page(self) except -1
    cdef int read(self, Span span, int begin, int end, Tag* tag) except -1
    cdef int _read_name(self, Span span, int begin, int end, Tag* tag) noexcept
    cdef int _paint(self, Span span, Tag* tag) except -1
    cdef int _paint_ground(self, Span span, Tag* tag) except -1
    cdef int _take_links(self, Span span) except -1
    cdef int _take_link(self, Span span, Range value) except -1
    cdef int _add_link(self, int begin, int end, bint moved) except -1
    cdef bint _is_mailto(self, Span span, Link link) noexcept
    cdef int _take_small_marks(self, Span span, Tag* tag) except -1
    cdef int _take_alt(self, Span span, Tag* tag) except -1
    cdef int _read_by_python(self, Span span, int begin, int end, Tag* tag) except -1
    cdef int _spell(self, str text) except -1
