"""Mutations of model files: random damage, and changes with correct checksums."""

import copy
import json

import numpy as np

from deciban import persistence
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
INTEGERS = [-1, 0, 1, 3, 255, 1 << 20, (1 << 31) - 1]
LONG_INTEGERS = [*INTEGERS, 1 << 32, 1 << 53, (1 << 63) - 1, -(1 << 63)]


def damage(rng, path, out):
    """Flip a bit, or remove, insert, replace or exchange bytes."""
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


def change_table(rng, path, out):
    """Change the shape, offsets or dtype of an array."""
    table, data = raw(path)
    names = [name for name in table if name != "__metadata__"]
    entry = table[str(rng.choice(names))]
    match rng.integers(5):
        case 0:
            entry["shape"] = [int(n) for n in rng.choice(LONG_INTEGERS, int(rng.integers(0, 5)))]
        case 1:
            entry["data_offsets"] = [int(n) for n in rng.choice([*LONG_INTEGERS, len(data)], 2)]
        case 2:
            entry["dtype"] = str(rng.choice(["F64", "F32", "I64", "I32", "U8", "BOOL", "F8_E4M3", ""]))
        case 3:
            entry[str(rng.choice([*entry, "more"]))] = NUMBERS[rng.integers(len(NUMBERS))]
        case 4:
            other = table[str(rng.choice(names))]
            entry["data_offsets"], other["data_offsets"] = other["data_offsets"], entry["data_offsets"]
    forge(out, table, data)


def change_text(rng, path, out):
    """Change a value of deciban's own text, with a correct checksum."""
    table, data = raw(path)

    def change(text):
        text |= edit_header(rng, text)

    forge(out, retext(table, change), data)


def change_header(rng, path, out):
    """Change a value of the header, in a valid container."""
    contents = persistence.read(path)
    persistence.write(out, edit_header(rng, contents.header), contents.arrays)


def change_arrays(rng, path, out):
    """Change an array, in a valid container."""
    contents = persistence.read(path)
    arrays = {name: array.copy() for name, array in contents.arrays.items()}
    name = str(rng.choice(sorted(arrays)))
    changed = change_shape(rng, arrays[name]) if rng.random() < 0.3 else change_elements(rng, arrays[name])
    if changed is None:
        del arrays[name]
    else:
        arrays[name] = changed
    header = edit_header(rng, contents.header) if rng.random() < 0.1 else contents.header
    persistence.write(out, header, arrays)


def change_elements(rng, array):
    if not array.size:
        return np.zeros(1, array.dtype)
    values = {"f": FLOATS, "b": [True, False], "u": [0, 65, 128, 255]}.get(
        array.dtype.kind, INTEGERS if array.dtype.itemsize == 4 else LONG_INTEGERS
    )
    some = rng.random(array.shape) < rng.choice([0.05, 0.5, 1.0])
    array[some] = rng.choice(np.array(values, dtype=array.dtype))
    return array


def change_shape(rng, array):
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


def edit_header(rng, header):
    """Return the header with one value replaced, removed or added."""
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
    """Yield every (owner, key) within lists and objects."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield value, key
        if isinstance(inner, (dict, list)):
            yield from _places(inner)


MUTATIONS = [
    damage,
    damage,
    change_table,
    change_text,
    change_header,
    change_header,
    change_arrays,
    change_arrays,
]
