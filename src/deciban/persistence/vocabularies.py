"""Vocabularies in model files: three arrays, looked at where they lie."""

from __future__ import annotations

import numpy as np

from deciban.ledger.hashing import SURROGATES, Bytes, Offsets, hash_words
from deciban.ledger.vocabulary import Vocabulary
from deciban.persistence import Section

AT_ONCE = 1 << 20
"""Bytes that are decoded together when it is checked that they are text."""


def put(section: Section, name: str, words: Vocabulary) -> Section:
    """Write a vocabulary; files hold whole numbers with a sign, so the hashes are written as such."""
    section.put(f"{name}/utf8", words.blob).put(f"{name}/offsets", words.offsets)
    return section.put(f"{name}/hashes", words.hashes.view(np.int64))


def read(section: Section, name: str, width: int) -> Vocabulary:
    """The vocabulary of so many words over the file's own bytes; refused where it could not have been written."""
    blob: Bytes = section.array(f"{name}/utf8", np.uint8, (None,))
    offsets = section.starts(f"{name}/offsets", width, len(blob))
    hashes = section.array(f"{name}/hashes", np.int64, (width,)).view(np.uint64)
    words = Vocabulary(blob, offsets, hashes)
    if not _is_text(blob, offsets):
        section.refuse(f"{name!r} has a word that is no UTF-8")
    if not _in_order(words):
        section.refuse(f"{name!r} should be in the order of their hashes, each word once")
    if section.eager and not np.array_equal(hash_words(blob, offsets), hashes):
        section.refuse(f"{name!r} has hashes that are not those of its words")
    return words


def _is_text(blob: Bytes, offsets: Offsets) -> bool:
    """Whether all of it is UTF-8, and no word begins within a character."""
    begins = offsets[:-1][offsets[:-1] < len(blob)]
    if ((blob[begins] & 0xC0) == 0x80).any():
        return False
    cuts = offsets[np.searchsorted(offsets, np.arange(0, len(blob), AT_ONCE))].tolist()
    try:
        for a, b in zip(cuts, [*cuts[1:], len(blob)]):
            blob[a:b].tobytes().decode("utf-8", SURROGATES)
    except UnicodeDecodeError:
        return False
    return True


def _in_order(words: Vocabulary) -> bool:
    hashes = words.hashes
    if (hashes[1:] < hashes[:-1]).any():
        return False
    equal = np.flatnonzero(hashes[1:] == hashes[:-1]).tolist()
    return all(words.word(i) < words.word(i + 1) for i in equal)
