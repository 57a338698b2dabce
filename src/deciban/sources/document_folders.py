"""Folders of documents: a sub-folder for each class with a file for each document, as in 20 Newsgroups."""

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
"""The number of folds in which models are evaluated; `interleave_classes` makes folds by row number fair too."""


@dataclass(frozen=True)
class Folders(WholeFiles):
    """Documents whose class is the name of the sub-folder that contains them, at any depth."""

    columns: Sequence[str] = (CLASS, TEXT, FILE)

    @classmethod
    def open(cls, paths: Sequence[str], options: FileOptions) -> Self:
        """List the files without reading them yet."""
        if len(paths) > 1:
            raise InputError(f"one folder is read at a time, not {len(paths)}. Hint: the folder that holds them all")
        decoding = Decoding.of(options)
        return cls(interleave_classes(_list_classes(paths[0])), decoding, paths[0])

    def columns_from_names(self, files: Sequence[str]) -> dict[str, Any]:
        """See `WholeFiles.columns_from_names`."""
        import pyarrow as pa

        columns = super().columns_from_names(files)
        labels = [name.partition("/")[0] for name in columns[FILE].to_pylist()]
        return {CLASS: pa.array(labels, pa.string()), **columns}

    def refuse_one_class(self) -> None:
        """Raise an error where there is one class: learning needs two, other uses do not."""
        classes = {printable(file).partition("/")[0] for file in self.files}
        if len(classes) == 1:
            raise InputError(
                f"{self.name} has one sub-folder with files only, {classes.pop()!r}; each is a class, and a "
                f"classifier needs two. Hint: the folder above, or name the classes that are to come, "
                f"--classes a,b (classes=['a', 'b'])"
            )


def interleave_classes(classes: Sequence[Sequence[str]]) -> list[str]:
    """Return all files in a fixed order that mixes the classes.

    Taking a file of each class in turn would put all of a class into one fold, where there are ten classes and ten
    folds. So the files are distributed to the folds first, class by class: each fold has a tenth of each class, plus
    or minus one. Then row 10·q + f is the q-th of fold f, in which the classes alternate in a new order each time:
    the first 10·K rows have a document of every class.
    """
    random = Random(0)
    of_class = [(k, file) for k, files in enumerate(classes) for file in files]
    folds = []
    for files_of_fold in (of_class[f::FOLDS] for f in range(FOLDS)):
        turns: Counter[int] = Counter()
        keyed = []
        for k, file in files_of_fold:
            keyed.append((turns[k], random.random(), file))
            turns[k] += 1
        folds.append([file for _, _, file in sorted(keyed)])
    return [folds[i % FOLDS][i // FOLDS] for i in range(len(of_class))]


def _list_classes(folder: str) -> list[list[str]]:
    """List the files of each sub-folder that has some, by name."""
    if not os.path.isdir(folder):
        what = "is a file" if os.path.exists(folder) else "is not there"
        raise InputError(
            f"{printable(folder)!r} {what}, and a folder with a sub-folder for each class is wanted. Hint: "
            f"unpack an archive first; documents without classes are read by --format text (format='text')"
        )
    entries = _list_visible(folder, "")
    found = [_list_files(folder, entry.name) for entry in entries if entry.is_dir()]
    if not any(found):
        loose = sum(entry.is_file() for entry in entries)
        what = f"{loose} files but no sub-folder with files" if loose else "no sub-folder with files"
        raise InputError(
            f"{printable(folder)!r} has {what}, and each sub-folder is a class. Hint: the folder above it; "
            f"documents without classes are read by --format text {printable(folder)}/* (format='text')"
        )
    return [files for files in found if files]


def _list_files(folder: str, inside: str) -> list[str]:
    """List all files in a sub-folder and in its sub-folders, by name; refuse a link that leads back up."""
    files: list[str] = []
    pending: list[tuple[str, frozenset[tuple[int, int]]]] = [(inside, frozenset())]
    while pending:
        inside, above = pending.pop()
        with reword_errors(os.path.join(folder, inside)):
            found = os.stat(os.path.join(folder, inside))
        here = (found.st_dev, found.st_ino)
        if here in above:
            raise InputError(f"{printable(inside)!r} in {printable(folder)!r} is a link to a folder that it is in")
        for entry in _list_visible(folder, inside):
            name = os.path.join(inside, entry.name)
            if entry.is_dir():
                pending.append((name, above | {here}))
            else:
                files.append(name)
    return sorted(files)


def _list_visible(folder: str, inside: str) -> list[os.DirEntry[str]]:
    """List files and folders in a folder, by name; hidden ones are left out, other entries raise an error."""
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
