"""A small table of film reviews: texts, a number and a category, some cells missing."""

import csv

import numpy as np
import pyarrow as pa

BOTH = ["film", "with", "acting", "and", "a", "story", "that"]
PRAISE = ["lovely", "brilliant", "warm", "touching", "funny", "superb", "great", "stays", *BOTH]
BLAME = ["dull", "boring", "awful", "waste", "clumsy", "poor", "never", "starts", *BOTH]
FIRST = ["Once", "upon", "a", "time", "in", "café", "Ünal's", "naïve", "city"]
N = 240


def reviews(n=N, seed=0, missing=True):
    """Texts with line breaks, commas and quotes in them; a heading each, stars, and a country."""
    rng = np.random.default_rng(seed)
    liked = rng.random(n) < 0.4
    texts, heads = [], []
    for i, good in enumerate(liked):
        words = rng.choice(PRAISE if good else BLAME, rng.integers(6, 20)).tolist()
        texts.append(f'No. {i}: {" ".join(words[:4])},\n{" ".join(words[4:])}"!"')
        heads.append(f"{' '.join(rng.choice(FIRST, 4))} {rng.choice(PRAISE if good else BLAME)} number{i}")
    columns = {
        "text": texts,
        "stars": np.round(rng.normal(3 + liked, 1.0), 2).tolist(),
        "head": heads,
        "country": rng.choice(["fr", "de", "in"], n).tolist(),
        "verdict": np.where(liked, "good", "bad").tolist(),
    }
    for name in ("text", "stars", "head", "country") if missing else ():
        columns[name] = [None if gone else cell for cell, gone in zip(columns[name], rng.random(n) < 0.1)]
    return pa.table(columns)


def as_csv(table, path):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table.column_names)
        writer.writerows([["" if cell is None else cell for cell in row.values()] for row in table.to_pylist()])
    return str(path)
