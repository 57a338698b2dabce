"""Files of storage services, by addresses such as s3://bucket/key, through the file systems of Arrow and fsspec.

They are read for Spark alone (`spark=`): its executors read the same addresses as the driver.
"""

from __future__ import annotations

import re
from typing import Any

from deciban.errors import InputError, MissingExtraError

ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)


def is_remote(path: str) -> bool:
    """Return whether a path is the address of a file of a storage service: s3://…, gs://…, hdfs://…"""
    return ADDRESS.match(path) is not None and not path.lower().startswith("file://")


def open_remote(path: str) -> Any:
    """Open a file of a storage service for reading, as a file of Arrow in which any place can be sought."""
    files, name = find_file_system(path)
    return files.open_input_file(name)


def find_file_system(path: str) -> tuple[Any, str]:
    """Return the file system of an address and the file's name there: fsspec's if it knows one, else Arrow's."""
    from pyarrow import fs

    scheme = path.partition("://")[0]
    try:
        import fsspec

        files = fsspec.filesystem(scheme)
        return fs.PyFileSystem(fs.FSSpecHandler(files)), files._strip_protocol(path)
    except (ImportError, ValueError):
        pass
    try:
        found: tuple[Any, str] = fs.FileSystem.from_uri(path)
        return found
    except (OSError, ValueError) as error:
        hint = f"Hint: install the package of fsspec for {scheme}, such as s3fs"
        raise MissingExtraError(f"{path!r} is on a file system that is not known: {error}. {hint}") from None


def list_remote(pattern: str) -> list[str]:
    """Return the addresses of all files that a pattern matches, sorted; `**/` stands for any number of folders.

    An address that is no pattern is returned as it is, whether there is such a file or not; InputError if a pattern
    matches nothing.
    """
    if not re.search(r"[*?\[]", pattern):
        return [pattern]
    from fnmatch import translate

    from pyarrow import fs

    files, name = find_file_system(pattern)
    root = re.split(r"[*?\[]", name, maxsplit=1)[0].rpartition("/")[0]
    # the last two characters of a translation match the end of the text
    parts = [translate(part)[:-2].replace(".*", "[^/]*") for part in name.split("**/")]
    matches = re.compile("(?:[^/]+/)*".join(parts)).fullmatch
    listed = files.get_file_info(fs.FileSelector(root, recursive="/" in name[len(root) + 1 :]))
    scheme = pattern.partition("://")[0]
    found = sorted(f"{scheme}://{info.path}" for info in listed if info.is_file and matches(info.path))
    if not found:
        raise InputError(f"no file matches {pattern!r}")
    return found
