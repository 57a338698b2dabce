"""Harm done to model files: by accident, and by hand with all checksums put right."""

import copy
import json

import numpy as np

from deciban import persistence as files
from tests.persistence.test_container import forge, raw, retext

NUMBERS = [
    -1,
    0,
    1,
    2,
    3,
    7,
    1 << 31,
    1 << 53,
    1 << 62,
    10**30,
    0.5,
    -0.5,
    1e308,
    "inf",
    "nan",
    True,
    None,
    "x",
    [],
    {},
]
TEXTS = [
    "",
    "x",
    "Linear",
    "Full",
    "Gaussian",
    "counts",
    "Moments",
    "GaussianNB",
    "JointBayes",
    "\ud800",
    "é",
    5,
    None,
]
FLOATS = [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e308, -1e308, 5e-324, 0.5]
WHOLES = [-1, 0, 1, 3, 255, 1 << 20, (1 << 31) - 1]
LONG = [*WHOLES, 1 << 32, 1 << 53, (1 << 63) - 1, -(1 << 63)]


def accident(rng, path, out):
    """Bits flipped, bytes lost, added or moved."""
    content = bytearray(path.read_bytes())
    at, size = int(rng.integers(len(content))), int(rng.integers(1, 64))
    match rng.integers(6):
        case 0:
            content[at] ^= 1 << int(rng.integers(8))
        case 1:
            del content[at:]
        case 2:
            del content[at : at + size]
        case 3:
            content[at:at] = rng.bytes(size)
        case 4:
            content[at : at + size] = rng.bytes(size)
        case 5:
            other = int(rng.integers(len(content)))
            content[at : at + size], content[other : other + size] = (
                content[other : other + size],
                content[at : at + size],
            )
    out.write_bytes(content)


def hostile_table(rng, path, out):
    """Shapes, places and kinds of arrays that are not theirs."""
    table, data = raw(path)
    names = [name for name in table if name != "__metadata__"]
    entry = table[str(rng.choice(names))]
    match rng.integers(5):
        case 0:
            entry["shape"] = [int(n) for n in rng.choice(LONG, int(rng.integers(0, 5)))]
        case 1:
            entry["data_offsets"] = [int(n) for n in rng.choice([*LONG, len(data)], 2)]
        case 2:
            entry["dtype"] = str(rng.choice(["F64", "F32", "I64", "I32", "U8", "BOOL", "F8_E4M3", ""]))
        case 3:
            entry[str(rng.choice([*entry, "more"]))] = NUMBERS[rng.integers(len(NUMBERS))]
        case 4:
            other = table[str(rng.choice(names))]
            entry["data_offsets"], other["data_offsets"] = other["data_offsets"], entry["data_offsets"]
    forge(out, table, data)


def hostile_text(rng, path, out):
    """Any value of deciban's own text, another; the checksum is right."""
    table, data = raw(path)

    def change(text):
        text |= edited(rng, text)

    forge(out, retext(table, change), data)


def hostile_header(rng, path, out):
    """A header that nobody wrote, in a file that is sound."""
    contents = files.read(path)
    files.write(out, edited(rng, contents.header), contents.arrays)


def hostile_arrays(rng, path, out):
    """Arrays that nobody wrote, in a file that is sound."""
    contents = files.read(path)
    arrays = {name: array.copy() for name, array in contents.arrays.items()}
    name = str(rng.choice(sorted(arrays)))
    changed = reshaped(rng, arrays[name]) if rng.random() < 0.3 else revalued(rng, arrays[name])
    if changed is None:
        del arrays[name]
    else:
        arrays[name] = changed
    header = edited(rng, contents.header) if rng.random() < 0.1 else contents.header
    files.write(out, header, arrays)


def revalued(rng, array):
    if not array.size:
        return np.zeros(1, array.dtype)
    values = {"f": FLOATS, "b": [True, False], "u": [0, 65, 128, 255]}.get(
        array.dtype.kind, WHOLES if array.dtype.itemsize == 4 else LONG
    )
    some = rng.random(array.shape) < rng.choice([0.05, 0.5, 1.0])
    array[some] = rng.choice(np.array(values, dtype=array.dtype))
    return array


def reshaped(rng, array):
    match rng.integers(7):
        case 0:
            return None
        case 1:
            return array.reshape(-1)
        case 2:
            return array[..., None]
        case 3:
            return array[:-1] if array.ndim and len(array) else array
        case 4:
            return np.concatenate([array, array]) if array.ndim else array
        case 5:
            return array.astype(rng.choice([np.float64, np.float32, np.int64, np.int32, np.uint8, np.bool_]))
        case _:
            return np.zeros((0, 1 << 20), array.dtype)


def edited(rng, header):
    """The header with one value another, gone, or new."""
    header = copy.deepcopy(header)
    places = list(_places(header))
    owner, key = places[rng.integers(len(places))]
    match rng.integers(6):
        case 0:
            del owner[key]
        case 1:
            owner[key] = TEXTS[rng.integers(len(TEXTS))]
        case 2 | 3:
            owner[key] = NUMBERS[rng.integers(len(NUMBERS))]
        case 4:
            other, there = places[rng.integers(len(places))]
            owner[key] = copy.deepcopy(other[there]) if (other, there) != (owner, key) else 5
        case 5:
            if isinstance(owner, dict):
                owner["new"] = 1
            else:
                owner.append(copy.deepcopy(owner[key]))
    return json.loads(json.dumps(header))


def _places(value):
    """Every (owner, key) within lists and objects."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield value, key
        if isinstance(inner, (dict, list)):
            yield from _places(inner)


MUTATIONS = [
    accident,
    accident,
    hostile_table,
    hostile_text,
    hostile_header,
    hostile_header,
    hostile_arrays,
    hostile_arrays,
]
