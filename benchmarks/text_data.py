"""Public corpora as lists of documents with their labels; what is derived of them goes to the temporary place."""

import tarfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import data, table_data

Labels = NDArray[np.str_]
MEGABYTE = 10**6
TARGET, TEXT = "group", "post"


class Corpus(NamedTuple):
    """Documents and their classes."""

    documents: list[str]
    labels: Labels

    @property
    def nbytes(self) -> int:
        """Bytes of the documents in UTF-8."""
        return sum(len(document.encode("utf-8", "surrogatepass")) for document in self.documents)

    def of(self, classes: tuple[str, ...]) -> "Corpus":
        """The documents of these classes only."""
        return self.take(np.flatnonzero(np.isin(self.labels, classes)))

    def take(self, rows: NDArray[np.intp]) -> "Corpus":
        """These documents, in this order."""
        return Corpus([self.documents[row] for row in rows], self.labels[rows])

    def share(self, scale: float) -> "Corpus":
        """Documents at even steps, so that every class stays: all of them at scale 1."""
        step = max(1, round(1 / scale))
        return Corpus(self.documents[::step], self.labels[::step])


def members(name: str) -> Iterator[tuple[str, str]]:
    """Paths and contents of an archive's files, in its order, read as latin-1 with line ends as they are."""
    with tarfile.open(data.find(name)) as archive:
        for member in archive:
            stream = archive.extractfile(member) if member.isfile() else None
            if stream:
                yield member.name, stream.read().decode("latin-1")


@cache
def newsgroups() -> dict[str, Corpus]:
    """20 Newsgroups by date, headers kept: "train" (11 314 posts) and "test" (7 532), ordered by path."""
    parts: dict[str, list[tuple[str, str]]] = {"train": [], "test": []}
    for path, text in sorted(members("20news-bydate.tar.gz")):
        part, group, _ = path.split("/")
        parts[part.rsplit("-", 1)[1]].append((group, text))
    return {part: corpus(pairs) for part, pairs in parts.items()}


@cache
def sentences() -> Corpus:
    """Sentences of movie reviews, 5331 good and 5331 bad."""
    pairs = []
    for label in ("pos", "neg"):
        text = data.find(f"rt-polarity/rt-polarity.{label}").read_text(encoding="cp1252")
        pairs += [(label, line) for line in text.split("\n") if line]
    return corpus(pairs)


def repeated(some: Corpus, size: int) -> Corpus:
    """The corpus again and again, until it has so many bytes."""
    times = -(-size // some.nbytes)
    return Corpus(some.documents * times, np.tile(some.labels, times))


@cache
def enron(number: int) -> Corpus:
    """One mailbox of Enron-Spam in order of arrival: file names start with the number of the message."""
    found = []
    for path, text in members(f"enron{number}.tar.gz"):
        _, *folder, name = path.split("/")
        if folder:  # a summary lies beside the two folders
            found.append((int(name.split(".")[0]), folder[0], text))
    return corpus([(label, text) for _, label, text in sorted(found)])


@cache
def raw_mail() -> Corpus:
    """SpamAssassin's corpus, ordered by path: messages as they were sent, all their headers kept."""
    pairs = []
    for path, text in sorted(members("spamassassin.tar.gz")):
        folder, name = path.split("/")[-2:]
        if name != "cmds":
            pairs.append(("spam" if folder.startswith("spam") else "ham", text))
    return corpus(pairs)


def short_messages() -> Corpus:
    """The SMS Spam Collection."""
    return labelled_lines("sms-spam.tsv")


def labelled_lines(name: str) -> Corpus:
    """A file of lines, each a label, a tab and the text."""
    lines = data.find(name).read_text(encoding="utf-8").split("\n")
    return corpus([(label, text) for label, tab, text in (line.partition("\t") for line in lines) if tab])


def reuters(part: str) -> Corpus:
    """Reuters R8, terms only; part is "train" (5485) or "test" (2189)."""
    return labelled_lines(f"r8-{part}-all-terms.txt")


def corpus(pairs: list[tuple[str, str]]) -> Corpus:
    """Pairs of label and text as a corpus."""
    return Corpus([text for _, text in pairs], np.array([label for label, _ in pairs]))


ROW_GROUP = 5000
"""Posts a row group, about 15 MB of text."""


def parquet_of_posts(size: int) -> Path:
    """Newsgroup posts repeated to so many bytes, as Parquet with a column of text and one of groups."""
    posts = newsgroups()["train"]
    return table_data.kept(f"posts-{size // MEGABYTE}.parquet", lambda path: write_posts(path, posts, size))


def write_posts(path: Path, posts: Corpus, size: int) -> None:
    """The posts shuffled once, then row group after row group until so many bytes are written."""
    import pyarrow as pa
    from pyarrow import parquet

    order = np.random.default_rng(14).permutation(len(posts.labels))
    table = pa.table({TEXT: posts.documents, TARGET: posts.labels.tolist()}).take(pa.array(order))
    left = size
    with parquet.ParquetWriter(path, table.schema, compression="zstd", use_dictionary=[TARGET]) as writer:
        while left > 0:
            for start in range(0, len(table), ROW_GROUP):
                group = table.slice(start, ROW_GROUP)
                writer.write_table(group)
                left -= group.column(TEXT).combine_chunks().nbytes
                if left <= 0:
                    break
