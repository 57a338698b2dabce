"""The compiled mail reader gives what the Python one does, which is the definition, however mail is dealt out."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from tests.mail import fuzzing, hostile, made_up
from tests.mail.fuzzing import Compiled, Heard, difference

from deciban.cli.examples.mailbox.maildir import mailbox
from deciban.mail.numbering import Numbering, quickest
from deciban.mail.reading import USUAL, Reading

ROOT = Path(__file__).parents[2]

is_compiled = pytest.mark.skipif(Compiled is None, reason="the mail reader is not compiled here")

OWN = {
    **made_up.BROKEN,
    **{f"{name}, {way}": made_up.plain(name, way).as_bytes() for name in made_up.TEXTS for way in (None, "base64")},
    "rich": made_up.rich().as_bytes(),
    "forwarded": made_up.forwarded().as_bytes(),
}


@pytest.fixture(scope="module")
def letters():
    """The example mailbox: wanted mail and junk in eleven languages."""
    return [one.raw for one in mailbox()]


def differences(cases):
    """By name, what the two readers say differently of messages."""
    names, raws = list(cases), list(cases.values())
    defined, found = Heard(Numbering(USUAL)).of(raws), Heard(Compiled()).of(raws)
    told = [difference(one, other) for one, other in zip(defined, found, strict=True)]
    return {name: trouble for name, trouble in zip(names, told, strict=True) if trouble}


@is_compiled
def test_our_own_messages_hold_the_same_compiled():
    assert differences(OWN) == {}


@is_compiled
def test_the_example_mailbox_holds_the_same_compiled(letters):
    assert len(letters) == 380
    assert differences(dict(enumerate(letters))) == {}


@is_compiled
def test_messages_made_to_be_slow_or_deep_hold_the_same_compiled():
    assert differences(dict(hostile.repeated(2000))) == {}
    assert differences(dict(hostile.crowds(60_000))) == {}


@is_compiled
def test_mutated_letters_hold_the_same_compiled(letters):
    chance, seeds = random.Random(5), [*letters, *OWN.values()]
    raws = [fuzzing.mutated(chance.choice(seeds), seeds, chance) for _ in range(600)]
    assert differences({raw: raw for raw in raws}) == {}


@is_compiled
@pytest.mark.parametrize("most", [1, 7, 100])
def test_it_does_not_matter_how_messages_are_dealt_out(letters, most):
    reader = Heard(Compiled())
    dealt = [held for at in range(0, len(letters), most) for held in reader.of(letters[at : at + most])]
    assert dealt == Heard(Compiled()).of(letters)
    assert reader.begun == 1


@is_compiled
def test_numbers_that_begin_anew_mean_the_same_tokens(monkeypatch, letters):
    from deciban.mail.native import numbering as native

    usual = Heard(Compiled()).of(letters)
    monkeypatch.setattr(native, "MOST_WORDS", 1000)
    reader = Heard(Compiled())
    assert [held for at in range(0, len(letters), 20) for held in reader.of(letters[at : at + 20])] == usual
    assert reader.begun > 5


@is_compiled
def test_nothing_to_read_says_nothing():
    reader = Heard(Compiled())
    assert reader.of([]) == []
    assert [held.tokens for held in reader.of([b"\nword"])] == [fuzzing.held_by(b"\nword").tokens]
    assert reader.of([]) == []


@is_compiled
def test_digests_are_left_out_unless_they_are_wanted(letters):
    _, _, digests, sizes, _, _ = Compiled().said(letters[:5], digests=False)
    assert (digests, len(sizes)) == (b"", 20)


@is_compiled
def test_what_is_no_message_is_refused_and_the_next_one_is_read_as_ever(letters):
    reader = Heard(Compiled())
    with pytest.raises(TypeError):
        reader.of([letters[0], "a text"])
    assert reader.of(letters[1:3]) == Heard(Numbering(USUAL)).of(letters[1:3])


@is_compiled
def test_the_usual_way_of_reading_is_compiled():
    assert isinstance(quickest(USUAL), Compiled)
    assert isinstance(quickest(Reading()), Compiled)


def test_any_other_way_of_reading_is_python():
    pairs = Reading(pairs=True)
    assert isinstance(quickest(pairs), Numbering)
    assert "a+b" not in Heard(quickest(pairs)).of([b"\ntea time"])[0].tokens
    assert "tea+time" in Heard(quickest(pairs)).of([b"\ntea time"])[0].tokens


def test_where_nothing_is_compiled_python_reads(monkeypatch):
    monkeypatch.setitem(sys.modules, "deciban.mail.native.numbering", None)
    assert isinstance(quickest(USUAL), Numbering)
    assert Heard(quickest(USUAL)).of([b"\nword"]) == [fuzzing.held_by(b"\nword")]


READ_MANY = """
import json, sys
from tests.mail import test_native
from tests.mail.fuzzing import Compiled, peak_mib
from deciban.mail.native import numbering

numbering.MOST_WORDS = 30_000
letter, reader, peaks = getattr(test_native, sys.argv[1]), Compiled(), []
for begin in range(0, 600, 150):
    for n in range(begin, begin + 150, 10):
        reader.said([letter(i) for i in range(n, n + 10)])
    peaks.append(peak_mib())
print(json.dumps(peaks))
"""
PARTS = b"""\
Content-Type: multipart/mixed; boundary=x

--x
Content-Type: text/plain; charset=%(charset)s

%(text)s
--x
Content-Type: text/html; charset=utf-8

<style>%(sheet)s</style>%(page)s
--x--
"""


def full_of_new_tokens(n: int) -> bytes:
    """Words, links, names of headers, colours, events, entities and a charset that never come again."""
    new = range(100 * n, 100 * n + 100)
    words = b"".join(b"w%d w-%d W\xc3\xa9%d http://h%d.example/p%d $%d " % ((i,) * 6) for i in new)
    tags = b"".join(b"<p style='color:#%06x' onx%d=x><font color=%06x>&#%d;&x%d;" % ((i,) * 5) for i in new[:30])
    parts = {b"charset": b"x-%d" % n, b"text": words, b"sheet": b"p{}", b"page": tags + words}
    return b"".join(b"X-New%d: %d\nList-%d: b\n" % (i, i, i) for i in new) + PARTS % parts


def hangul(i: int) -> bytes:
    """A letter as an entity, in one of four ways."""
    return (b"&#%d;", b"&#0%d;", b"&#x%x;", b"&#x0%x;")[i // 11_172 % 4] % (0xAC00 + i % 11_172)


def full_of_new_things_that_are_no_tokens(n: int) -> bytes:
    """Words too long to be one, styles, classes, sheets, and entities within words that are too long."""
    new = range(400 * n, 400 * n + 400)
    words = b" ".join(b"\xc3\xa9%023d" % i for i in new)
    tags = b"".join(b"<p style='x:%d' class=c%d>" % (i, i) for i in new[:60])
    data = b"d" * 201 + b"".join(hangul(i) for i in range(60 * n, 60 * n + 60))
    sheet = b".n%d{display:none}" % n + b"b{} " * 5000
    return PARTS % {b"charset": b"utf-8", b"text": words, b"sheet": sheet, b"page": tags + data}


@is_compiled
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="memory is read from /proc")
@pytest.mark.parametrize("letter", [full_of_new_tokens, full_of_new_things_that_are_no_tokens])
def test_memory_is_bounded_however_much_is_new(letter):
    raws = [letter(n) for n in (1, 2)]
    assert differences(dict(enumerate(raws))) == {}
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
    command = [sys.executable, "-c", READ_MANY, letter.__name__]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    peaks = json.loads(done.stdout)
    assert peaks[-1] - peaks[1] < 2, peaks
