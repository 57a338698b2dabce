"""The folder of public data sets, and readers of its files."""

import csv
import gzip
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent
FloatMatrix = NDArray[np.float64]
Labels = NDArray[np.str_]


class DataMissingError(FileNotFoundError):
    """The data folder, or a file in it, does not exist."""


def data_folder() -> Path:
    """Return the folder named by DECIBAN_DATA, or `shared/data` next to the repository."""
    given = os.environ.get("DECIBAN_DATA")
    folder = Path(given) if given else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        raise DataMissingError(
            f"no data folder at {folder}. Hint: set DECIBAN_DATA to the folder with mnist/ and tables/"
        )
    return folder


def find_file(name: str) -> Path:
    """Return the path of a data file, which must exist."""
    path = data_folder() / name
    if not path.is_file():
        raise DataMissingError(
            f"{name} is not in {path.parents[name.count('/')]}. Hint: set DECIBAN_DATA to a folder that has it"
        )
    return path


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Read an array of bytes in IDX format: two zeros, type 8, the number of axes, big-endian sizes, the bytes."""
    raw = gzip.decompress(path.read_bytes())
    if raw[:3] != b"\0\0\x08":
        raise ValueError(f"{path.name} starts with {raw[:3]!r}; an IDX file of bytes starts with 00 00 08")
    axes = raw[3]
    shape = np.frombuffer(raw, dtype=">u4", count=axes, offset=4)
    return np.frombuffer(raw, dtype=np.uint8, offset=4 + 4 * axes).reshape(shape.astype(np.intp))


def load_mnist(part: str) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Load handwritten digits, one row of 784 grey pixels each; `part` is "train" (60 000) or "t10k" (10 000)."""
    images = read_idx(find_file(f"mnist/{part}-images-idx3-ubyte.gz"))
    return images.reshape(len(images), -1), read_idx(find_file(f"mnist/{part}-labels-idx1-ubyte.gz"))


def read_table(name: str) -> tuple[list[list[str]], Labels]:
    """Read the cells of a UCI table as text, and its last column as labels."""
    with find_file(f"tables/{name}.csv").open(newline="", encoding="utf-8") as lines:
        rows = list(csv.reader(lines))[1:]
    return [row[:-1] for row in rows], np.array([row[-1] for row in rows])


def load_letter() -> tuple[FloatMatrix, Labels]:
    """Load 16 measurements of 20 000 printed capital letters."""
    cells, labels = read_table("letter")
    return np.array(cells, dtype=np.float64), labels


def load_vote() -> tuple[FloatMatrix, Labels]:
    """Load 16 votes of 435 members of the US Congress: 0 no, 1 yes, NaN not cast."""
    cells, labels = read_table("vote")
    meaning = {"n": 0.0, "y": 1.0, "": np.nan}
    return np.array([[meaning[cell] for cell in row] for row in cells]), labels
