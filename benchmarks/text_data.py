"""Public corpora as lists of documents with their labels; derived files go to the scratch folder."""

import gzip
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
        """The number of bytes of the documents in UTF-8."""
        return sum(len(document.encode("utf-8", "surrogatepass")) for document in self.documents)

    def with_labels(self, classes: tuple[str, ...]) -> "Corpus":
        """Return the documents of these classes only."""
        return self.take(np.flatnonzero(np.isin(self.labels, classes)))

    def take(self, rows: NDArray[np.intp]) -> "Corpus":
        """Return these documents, in this order."""
        return Corpus([self.documents[row] for row in rows], self.labels[rows])

    def subsample(self, scale: float) -> "Corpus":
        """Return every n-th document, so that every class remains: all of them at scale 1."""
        step = max(1, round(1 / scale))
        return Corpus(self.documents[::step], self.labels[::step])


def read_archive(name: str) -> Iterator[tuple[str, str]]:
    """Yield paths and contents of the files of an archive, in its order, read as latin-1 with unchanged line ends."""
    with tarfile.open(data.find_file(name)) as archive:
        for member in archive:
            stream = archive.extractfile(member) if member.isfile() else None
            if stream:
                yield member.name, stream.read().decode("latin-1")


@cache
def load_newsgroups() -> dict[str, Corpus]:
    """Load 20 Newsgroups by date, headers kept: "train" (11 314 posts) and "test" (7 532), ordered by path."""
    parts: dict[str, list[tuple[str, str]]] = {"train": [], "test": []}
    for path, text in sorted(read_archive("20news-bydate.tar.gz")):
        part, group, _ = path.split("/")
        parts[part.rsplit("-", 1)[1]].append((group, text))
    return {part: make_corpus(pairs) for part, pairs in parts.items()}


@cache
def load_movie_sentences() -> Corpus:
    """Load sentences of movie reviews, 5331 positive and 5331 negative."""
    pairs = []
    for label in ("pos", "neg"):
        text = data.find_file(f"rt-polarity/rt-polarity.{label}").read_text(encoding="cp1252")
        pairs += [(label, line) for line in text.split("\n") if line]
    return make_corpus(pairs)


def repeat_to_size(corpus: Corpus, size: int) -> Corpus:
    """Repeat the corpus until it has at least this many bytes."""
    times = -(-size // corpus.nbytes)
    return Corpus(corpus.documents * times, np.tile(corpus.labels, times))


@cache
def load_enron(number: int) -> Corpus:
    """Load one mailbox of Enron-Spam in order of arrival: file names start with the number of the message."""
    found = []
    for path, text in read_archive(f"enron{number}.tar.gz"):
        _, *folder, name = path.split("/")
        if folder:  # the archive also contains a summary file
            found.append((int(name.split(".")[0]), folder[0], text))
    return make_corpus([(label, text) for _, label, text in sorted(found)])


@cache
def load_spamassassin() -> Corpus:
    """Load SpamAssassin's corpus, ordered by path: complete messages with all headers."""
    pairs = []
    for path, text in sorted(read_archive("spamassassin.tar.gz")):
        folder, name = path.split("/")[-2:]
        if name != "cmds":
            pairs.append(("spam" if folder.startswith("spam") else "ham", text))
    return make_corpus(pairs)


def load_sms() -> Corpus:
    """Load the SMS Spam Collection."""
    return read_labelled_lines("sms-spam.tsv")


def read_labelled_lines(name: str) -> Corpus:
    """Read a file of lines, each a label, a tab and the text."""
    lines = data.find_file(name).read_text(encoding="utf-8").split("\n")
    return make_corpus([(label, text) for label, tab, text in (line.partition("\t") for line in lines) if tab])


def load_reuters(part: str) -> Corpus:
    """Load Reuters R8, terms only; part is "train" (5485) or "test" (2189)."""
    return read_labelled_lines(f"r8-{part}-all-terms.txt")


def load_reuters_52(part: str) -> Corpus:
    """Load Reuters R52, title and body; part is "train" (6532) or "test" (2568)."""
    with gzip.open(data.find_file(f"r52-{part}.tsv.gz"), "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    return make_corpus([(label, f"{title}\n{body}") for label, _, title, body in rows])


def make_corpus(pairs: list[tuple[str, str]]) -> Corpus:
    """Make a corpus of pairs of label and text."""
    return Corpus([text for _, text in pairs], np.array([label for label, _ in pairs]))


POSTS_PER_ROW_GROUP = 5000
"""The number of posts in a row group, about 15 MB of text."""


def find_posts_file(size: int) -> Path:
    """Return a Parquet file of newsgroup posts repeated to this many bytes, with columns of text and of groups."""
    posts = load_newsgroups()["train"]
    return table_data.find_or_write(f"posts-{size // MEGABYTE}.parquet", lambda path: write_posts(path, posts, size))


def write_posts(path: Path, posts: Corpus, size: int) -> None:
    """Write the posts, shuffled once and repeated, by row groups until this many bytes are written."""
    import pyarrow as pa
    from pyarrow import parquet

    order = np.random.default_rng(14).permutation(len(posts.labels))
    table = pa.table({TEXT: posts.documents, TARGET: posts.labels.tolist()}).take(pa.array(order))
    remaining = size
    with parquet.ParquetWriter(path, table.schema, compression="zstd", use_dictionary=[TARGET]) as writer:
        while remaining > 0:
            for start in range(0, len(table), POSTS_PER_ROW_GROUP):
                group = table.slice(start, POSTS_PER_ROW_GROUP)
                writer.write_table(group)
                remaining -= group.column(TEXT).combine_chunks().nbytes
                if remaining <= 0:
                    break
