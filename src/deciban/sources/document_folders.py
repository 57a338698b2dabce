"""Folders of documents: a sub-folder for each class, in it a file for each document, as 20 Newsgroups comes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Self

from deciban.errors import InputError
from deciban.sources.document_files import FILE, TEXT, Decoding, WholeFiles
from deciban.sources.source import FileOptions, printable, reword_errors

CLASS = "class"
FOLDS = 10
"""A model is judged in so many folds; dealt by their numbers rows are in fair folds too: `in_turns`."""


@dataclass(frozen=True)
class Folders(WholeFiles):
    """Documents whose class is the name of the sub-folder that they are in, however deep."""

    columns: Sequence[str] = (CLASS, TEXT, FILE)

    @classmethod
    def open(cls, paths: Sequence[str], options: FileOptions) -> Self:
        """Find the files; none of them is read yet."""
        if len(paths) > 1:
            raise InputError(f"one folder is read at a time, not {len(paths)}. Hint: the folder that holds them all")
        decoding = Decoding.of(options)
        return cls(in_turns(_classes(paths[0])), decoding, paths[0])

    def told_by_names(self, files: Sequence[str]) -> dict[str, Any]:
        """See `WholeFiles.told_by_names`."""
        import pyarrow as pa

        columns = super().told_by_names(files)
        labels = [name.partition("/")[0] for name in columns[FILE].to_pylist()]
        return {CLASS: pa.array(labels, pa.string()), **columns}

    def refuse_one_class(self) -> None:
        """To learn takes two classes; to be predicted, added or forgotten one will do."""
        classes = {printable(file).partition("/")[0] for file in self.files}
        if len(classes) == 1:
            raise InputError(
                f"{self.name} has one sub-folder with files only, {classes.pop()!r}; each is a class, and telling "
                f"classes apart takes two. Hint: the folder above, or name the classes that are to come, "
                f"--classes a,b (classes=['a', 'b'])"
            )


def in_turns(classes: Sequence[Sequence[str]]) -> list[str]:
    """All files in an order that mixes the classes, always the same.

    Taking a file of each class in turn would put all of a class into one fold, where there are ten classes and ten
    folds. So the files are dealt to the folds first, class by class: each fold has a tenth of each class, give or
    take one. Then row 10·q + f is the q-th of fold f, in which the classes take turns, in a new order each time: the
    first 10·K rows have a document of every class.
    """
    chance = Random(0)
    of_class = [(k, file) for k, files in enumerate(classes) for file in files]
    folds = []
    for dealt in (of_class[f::FOLDS] for f in range(FOLDS)):
        turns: Counter[int] = Counter()
        keyed = []
        for k, file in dealt:
            keyed.append((turns[k], chance.random(), file))
            turns[k] += 1
        folds.append([file for _, _, file in sorted(keyed)])
    return [folds[i % FOLDS][i // FOLDS] for i in range(len(of_class))]


def _classes(folder: str) -> list[list[str]]:
    """The files of each sub-folder that has some, by name."""
    if not os.path.isdir(folder):
        what = "is a file" if os.path.exists(folder) else "is not there"
        raise InputError(
            f"{printable(folder)!r} {what}, and a folder with a sub-folder for each class is wanted. Hint: "
            f"unpack an archive first; documents without classes are read by --format text (format='text')"
        )
    entries = _visible(folder, "")
    found = [_files(folder, entry.name) for entry in entries if entry.is_dir()]
    if not any(found):
        loose = sum(entry.is_file() for entry in entries)
        what = f"{loose} files but no sub-folder with files" if loose else "no sub-folder with files"
        raise InputError(
            f"{printable(folder)!r} has {what}, and each sub-folder is a class. Hint: the folder above it; "
            f"documents without classes are read by --format text {printable(folder)}/* (format='text')"
        )
    return [files for files in found if files]


def _files(folder: str, inside: str) -> list[str]:
    """All files in a sub-folder and in its sub-folders, by name; a link that leads back up would have no end."""
    files: list[str] = []
    waiting: list[tuple[str, frozenset[tuple[int, int]]]] = [(inside, frozenset())]
    while waiting:
        inside, above = waiting.pop()
        with reword_errors(os.path.join(folder, inside)):
            found = os.stat(os.path.join(folder, inside))
        here = (found.st_dev, found.st_ino)
        if here in above:
            raise InputError(f"{printable(inside)!r} in {printable(folder)!r} is a link to a folder that it is in")
        for entry in _visible(folder, inside):
            name = os.path.join(inside, entry.name)
            if entry.is_dir():
                waiting.append((name, above | {here}))
            else:
                files.append(name)
    return sorted(files)


def _visible(folder: str, inside: str) -> list[os.DirEntry[str]]:
    """Files and folders in a folder, by name; hidden ones are left out, and what is neither is refused."""
    path = os.path.join(folder, inside)
    with reword_errors(path), os.scandir(path) as entries:
        found = sorted((entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.name)
    for entry in found:
        with reword_errors(entry.path):
            fine = entry.is_file() or entry.is_dir()
        if not fine:
            what = "a link that leads nowhere" if entry.is_symlink() else "neither a file nor a folder"
            raise InputError(f"{printable(entry.path)!r} is {what}. Hint: remove it, or hide it: name it with a dot")
    return found
