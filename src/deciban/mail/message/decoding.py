"""Decoding of bodies and headers: transfer encodings and charsets, damaged and wrongly declared ones included.

Nothing here raises. Charsets are looked up in a closed list: the name that a message declares never reaches Python's
search for codecs, which would import modules by that name.
"""

import binascii
import re
from encodings.aliases import aliases
from functools import lru_cache

LATIN = "cp1252"
"""The codec for ASCII, latin-1, no charset and unknown charsets: windows-1252 contains them all."""

SUPERSET_CODECS = {
    "ascii": LATIN, "latin_1": LATIN, "iso8859_9": "cp1254", "iso8859_11": "cp874", "tis_620": "cp874",
    "gb2312": "gb18030", "gbk": "gb18030", "big5": "cp950", "shift_jis": "cp932", "euc_kr": "cp949",
    "iso2022_jp": "iso2022_jp_2", "utf_8_sig": "utf_8", "utf_16_le": "utf_16", "utf_16_be": "utf_16",
    "utf_32_le": "utf_32", "utf_32_be": "utf_32",
}  # fmt: skip
"""For each codec the widest one that contains it, by which it is read, as mail programs do."""

CODEC_NAMES = """
utf_8 utf_7 utf_16 utf_32 cp1252 gb18030 hz cp950 big5hkscs cp932 euc_jp iso2022_jp_1 iso2022_jp_2
iso2022_jp_3 iso2022_jp_ext iso2022_jp_2004 euc_jis_2004 euc_jisx0213 shift_jis_2004 shift_jisx0213 cp949
johab iso2022_kr koi8_r koi8_u koi8_t kz1048 ptcp154 mac_roman mac_cyrillic mac_greek mac_latin2 mac_turkish
cp1006 cp437 cp720 cp737 cp775 cp850 cp852 cp855 cp856 cp857 cp858 cp860 cp861 cp862 cp863 cp864 cp865 cp866
cp869 cp874 cp1125 cp1250 cp1251 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 iso8859_2 iso8859_3 iso8859_4
iso8859_5 iso8859_6 iso8859_7 iso8859_8 iso8859_10 iso8859_13 iso8859_14 iso8859_15 iso8859_16
"""
CODECS = frozenset(CODEC_NAMES.split())
"""The codecs that messages are decoded by."""
SHIFTING = frozenset(c for c in CODECS if c.startswith(("iso2022", "utf_16", "utf_32")) or c in ("hz", "utf_7"))
"""Codecs in which bytes below 128 need not be ASCII."""

OTHER_NAMES = {
    "utf8mb4": "utf_8", "unicode": "utf_16", "xsjis": "cp932", "windows31j": "cp932", "windows949": "cp949",
    "xgbk": "gb18030", "xbig5": "cp950", "windows874": "cp874", "xmacroman": "mac_roman", "macintosh": "mac_roman",
}  # fmt: skip
"""Codecs of charsets that Python has no alias for, by letters and digits of their names."""

REPLACED = "\ufffd"
BYTE_ORDER_MARKS = {b"\xff\xfe": "utf_16_le", b"\xfe\xff": "utf_16_be"}
NOT_BASE64 = bytes(set(range(256)) - set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"))
LOOKS_BASE64 = re.compile(rb"\s*[A-Za-z0-9+/]{4,}+[=A-Za-z0-9+/]*+\s*(?:\n|\Z)")
MAX_CACHED_CHARSETS = 512


def _strip_punctuation(name: str) -> str:
    return re.sub(r"[\W_]+", "", name)


CODEC_BY_NAME = {
    _strip_punctuation(name): SUPERSET_CODECS.get(module, module)
    for name, module in [*aliases.items(), *((m, m) for m in [*CODECS, *SUPERSET_CODECS])]
    if SUPERSET_CODECS.get(module, module) in CODECS
} | OTHER_NAMES
"""The codec of each known charset, by the letters and digits of its name in lower case."""


@lru_cache(MAX_CACHED_CHARSETS)
def find_codec(charset: str) -> str | None:
    """Return the codec that reads a charset, or None for an unknown one.

    >>> find_codec("ISO-8859-1"), find_codec("gb2312"), find_codec("x-unknown"), find_codec("zlib")
    ('cp1252', 'gb18030', None, None)
    """
    return CODEC_BY_NAME.get(_strip_punctuation(charset[:60].lower()))


def decode_text(data: bytes, charset: str = "") -> str:
    """Decode bytes by their charset if it fits them, else by what they look like; zero characters are removed.

    >>> decode_text("naïve".encode(), "us-ascii"), decode_text("naïve".encode("cp1252"), "utf-8")
    ('naïve', 'naïve')
    """
    codec = find_codec(charset) if charset else None
    if codec is not None and codec in SHIFTING:
        return _decode_shifting(data, codec)
    if data.isascii():
        if 27 in data and (b"\x1b$" in data or b"\x1b(" in data):
            return _decode_shifting(data, "iso2022_jp_2")
        text = data.decode("ascii")
        if "\0" not in text:
            return text
        return _decode_wide(data) if _looks_wide(data) else text.replace("\0", "")
    if 4 * data.count(0) >= len(data) and _looks_wide(data):
        return _decode_wide(data)
    return _decode_ascii_superset(data, codec).replace("\0", "")


def _decode_ascii_superset(data: bytes, codec: str | None) -> str:
    """Decode by a codec that contains ASCII, or as UTF-8 (hardly ever valid by chance), or else as windows-1252."""
    if codec is None or codec in (LATIN, "utf_8"):
        try:
            return data.decode("utf_8")
        except UnicodeDecodeError:
            return _decode_damaged_utf8(data) or data.decode(LATIN, "replace")
    if (text := _decode_undeclared_utf8(data)) is not None:
        return text
    text = data.decode(codec, "replace")
    if 8 * text.count(REPLACED) > len(text) - len(text.encode("ascii", "ignore")):
        return _decode_ascii_superset(data, None)
    return text


def _decode_undeclared_utf8(data: bytes) -> str | None:
    """Decode UTF-8 that was declared as something else; None if invalid, or if so few characters may be chance."""
    try:
        text = data.decode("utf_8")
    except UnicodeDecodeError:
        return None
    return text if len(text) - len(text.encode("ascii", "ignore")) > 3 else None


def _decode_damaged_utf8(data: bytes) -> str | None:
    """Decode UTF-8 with some damage; None unless more of its characters beyond ASCII are valid than broken."""
    text = data.decode("utf_8", "replace")
    broken = text.count(REPLACED)
    valid = len(text) - len(text.encode("ascii", "ignore")) - broken
    return text if valid > broken else None


def _looks_wide(data: bytes) -> bool:
    """Return whether 70 % of the even or odd ones of the first 400 bytes are zero, as in Latin text of wide codes."""
    even, odd = data[0:400:2], data[1:400:2]
    return len(data) > 3 and (10 * even.count(0) >= 7 * len(even) or 10 * odd.count(0) >= 7 * len(odd))


def _decode_wide(data: bytes) -> str:
    """Decode UTF-16 or UTF-32, whose byte order shows in the places of zeros, or else of the bytes that vary less."""
    even, odd = data[0:400:2], data[1:400:2]
    if data[:2] == b"\0\0":
        codec = "utf_32_be"
    elif data[2:4] == b"\0\0":
        codec = "utf_32_le"
    elif data[:2] in BYTE_ORDER_MARKS:
        codec = BYTE_ORDER_MARKS[data[:2]]
    elif 5 * abs(even.count(0) - odd.count(0)) >= len(even):
        codec = "utf_16_be" if even.count(0) > odd.count(0) else "utf_16_le"
    else:
        codec = "utf_16_be" if len(set(even)) < len(set(odd)) else "utf_16_le"
    return data.decode(codec, "replace").replace("\0", "").lstrip("\ufeff")


def _decode_shifting(data: bytes, codec: str) -> str:
    """Decode by a codec in which bytes below 128 need not be ASCII, unless they look like something else."""
    if codec in ("utf_16", "utf_32"):
        is_ascii = data.isascii() and not _looks_wide(data)
        is_utf8 = b"\0" not in data and _decode_undeclared_utf8(data) is not None
        return decode_text(data) if is_ascii or is_utf8 else _decode_wide(data)
    text = data.decode(codec, "replace")
    if not data.isascii() and 8 * text.count(REPLACED) > len(text):
        return _decode_ascii_superset(data, None).replace("\0", "")
    # UTF-7 can encode single surrogates, which no other encoding can.
    return text.encode("utf_16", "surrogatepass").decode("utf_16", "replace").replace("\0", "")


def decode_transfer(body: bytes, encoding: str) -> bytes:
    """Decode quoted-printable or base64; bytes of another encoding, or that do not look like base64, stay unchanged.

    >>> decode_transfer(b"SGVsbG8", "base64"), decode_transfer(b"Hi there", "base64")
    (b'Hello', b'Hi there')
    >>> decode_transfer(b"a=3Db=", "quoted-printable")
    b'a=b'
    """
    if encoding == "quoted-printable":
        return binascii.a2b_qp(body)
    if encoding == "base64":
        return decode_base64(body) if LOOKS_BASE64.match(body) else body
    return body


def decode_base64(body: bytes) -> bytes:
    """Decode base64 that may lack its end or contain other characters."""
    try:
        return binascii.a2b_base64(body)
    except binascii.Error:
        characters = body.translate(None, NOT_BASE64)
        characters = characters[: len(characters) - (len(characters) % 4 == 1)]
        return binascii.a2b_base64(characters + b"=" * (-len(characters) % 4))
