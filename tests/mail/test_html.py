"""HTML pages: visible text, hidden text, links."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import deciban.mail.message
from deciban.mail.message.html import parse_page
from tests.mail.made_up import PAGE
from tests.timing import clear_caches, least_seconds


def seen(source):
    return " ".join(parse_page(source).text.split())


def test_a_page_with_everything():
    page = parse_page(PAGE)
    assert page.text.split() == ["Dear", "friend,", "click", "here", "logo"]
    assert page.hidden.split() == ["meadow", "river", "invisible", "ink"]
    assert page.links == ("http://shop.example.com:8080/offer/now?id=7", "http://203.0.113.9/x.gif")
    assert {"comment", "pixel", "script", "hidden:style", "hidden:colour", "color:fffffe"} <= set(page.tags)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("via<b></b>gra", "viagra"),
        ("vi<!-- x -->agra", "viagra"),
        ("vi<xyz>agra", "viagra"),
        ("one<br>two<p>three<td>four", "one two three four"),
        ("a &amp; b&nbsp;c &#99; &#x64; &unknown; &", "a & b c c d &unknown; &"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("x<style>a{b:c}</style>y<script>if (a<b) c</script>z", "xyz"),
        ("before<!-- never closed <b>gone", "before"),
        ("before<script>never closed", "before"),
        ("a <b title='x>y'>c</b>", "a y'>c"),
        ("<a href='x'", ""),
        ("<IMG ALT='a picture'>", "a picture"),
        ("no tags", "no tags"),
        ("", ""),
    ],
)
def test_text_that_is_seen(source, text):
    assert seen(source) == text


@pytest.mark.parametrize(
    "style",
    [
        "display:none", "DISPLAY : NONE;", "color:red; display:none", "visibility:hidden", "font-size:0",
        "font-size:0px;color:red",
        "font-size: 1px", "opacity:0", "mso-hide:all", "max-height:0;overflow:hidden", "color:#fff",
        "color: white", "color:#fefefe",
        "color:rgb(255,255,255)",
    ],
)  # fmt: skip
def test_styles_that_hide(style):
    page = parse_page(f'a <span style="{style}">poem <span>of</span> words</span> b')
    assert (page.text.split(), page.hidden.split()) == (["a", "b"], ["poem", "of", "words"])


@pytest.mark.parametrize(
    "style",
    [
        "font-size:10px",
        "font-size:1em",
        "opacity:0.9",
        "color:black",
        "font-size:100%",
        "max-width:0px",
        "background:white",
    ],
)
def test_styles_that_do_not(style):
    assert parse_page(f'<span style="{style}">words</span>').hidden == ""


def test_text_in_the_colour_of_its_own_ground():
    assert parse_page("<td bgcolor=navy><font color='#000080'>x</font></td>").hidden == "x"
    assert parse_page("<td bgcolor=navy><font color=white>x</font></td>").hidden == ""
    assert parse_page("<body bgcolor=black><font color=black>x</font> y").hidden == "x"
    assert parse_page("<td background=sky.gif><font color=white>x</font></td>").hidden == ""
    assert parse_page("<style>.a{background:navy}</style><td class=a><font color=white>x</font></td>").hidden == ""


def test_hiding_ends_where_its_tag_does():
    page = parse_page("<div style='display:none'>a<div>b</div>c</div>d")
    assert (page.text.strip(), page.hidden.split()) == ("d", ["a", "b", "c"])


@pytest.mark.parametrize(
    "sheet",
    [
        ".x{display:none}",
        "P.X , td.y { color: red; Display : NONE }",
        "<!-- /* .y{} */ #k { font-size: 0px; } -->",
        "@media print {.z{color:red}} .x{visibility:hidden}",
    ],
)
def test_style_sheets_that_hide(sheet):
    page = parse_page(f'<style>{sheet}</style>seen<p class="b X" id=k>poem <b>and</b> prose</p>also')
    assert (page.hidden.split(), page.text.split()) == (["poem", "and", "prose"], ["seen", "also"])
    assert "hidden:sheet" in page.tags


@pytest.mark.parametrize(
    "sheet",
    [
        "@media (max-width: 600px) {.x{display:none} #k{display:none}}",
        ".x:hover{display:none}",
        ".x .other{display:none}",
        "/* .x{display:none} */",
        ".x{display:block}",
        ".xx{display:none}",
    ],
)
def test_style_sheets_that_do_not(sheet):
    page = parse_page(f"<style>{sheet}</style><p class=x id=k>shown</p>")
    assert (page.hidden, page.text.strip()) == ("", "shown")


@pytest.mark.parametrize(
    "piece", ["@", "@a{", "{", "}", ".x{", "/*", "<style>", "<style>.x{opacity:0}", "a,", "<!--"]
)
def test_no_style_sheet_keeps_its_reader_waiting(piece):
    page = "<style>.x{display:none}" + piece * (200_000 // len(piece)) + "<p class=x>poem"

    def read():
        clear_caches(deciban.mail.message)
        parse_page(page)

    assert least_seconds(read, 1.0) <= 1.0


def test_links_are_found_in_every_kind_of_quotes():
    page = parse_page(
        """<a href="http://a/">1</a><a href='http://b/'>2</a><A HREF=http://c/>3</A><a href="#top">4</a>"""
    )
    assert page.links == ("http://a/", "http://b/", "http://c/")


@given(st.text(alphabet="<>/!-abst =\"'&;#0none:", max_size=200))
def test_any_text_is_a_page(source):
    page = parse_page(source)
    assert (page.text + page.hidden).encode().decode() == page.text + page.hidden
    assert all(mark.split() == [mark] for mark in page.tags)


@given(st.text(alphabet="abc déf\n", max_size=100))
def test_text_without_tags_is_shown_as_it_is(source):
    assert parse_page(source).text == source


def test_a_size_over_two_lines_is_one_mark_without_spaces():
    assert parse_page('<font size="1\n2">small</font>').tags == ("font", "size:12")


def test_among_thousands_of_colours_what_is_hidden_is_found():
    shades = "".join(f'<p style="color:#{n:06x}; background:#{0x800000 + n:06x}">seen</p>' for n in range(3000))
    page = parse_page(f'{shades}<font color="white">poem</font>')
    assert page.hidden == "poem"
    assert page.text.split() == ["seen"] * 3000


@pytest.mark.parametrize(
    ("written", "shown"),
    [("9" * 5000, "\ufffd"), ("0" * 5000 + "65", "A"), ("0" * 5000, "\ufffd"), ("99999999", "\ufffd")],
)
def test_a_character_by_a_number_of_any_length_is_read(written, shown):
    assert parse_page(f"x&#{written};y").text == f"x{shown}y"
