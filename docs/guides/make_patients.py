"""Makes the example tables of `deciban example`: patients who do not exist, drawn from rules that are all below.

python docs/guides/make_patients.py        writes patients.csv and new-patients.csv into the package
"""

from __future__ import annotations

import csv
import math
from datetime import date, timedelta
from io import StringIO
from pathlib import Path
from random import Random

FOLDER = Path(__file__).parents[2] / "src" / "deciban" / "cli" / "examples"
COLUMNS = (
    "patient", "seen", "age", "temperature", "cough", "smoker", "headache", "days_ill", "crp", "diagnosis"
)  # fmt: skip
SHARE = {"cold": 0.5, "flu": 0.3, "pneumonia": 0.2}
AGE = {"cold": (38, 14), "flu": (42, 16), "pneumonia": (61, 13)}
TEMPERATURE = {"cold": (37.0, 0.4), "flu": (38.8, 0.6), "pneumonia": (38.6, 0.8)}
COUGH = {
    "cold": {"none": 0.35, "dry": 0.4, "productive": 0.25},
    "flu": {"none": 0.15, "dry": 0.7, "productive": 0.15},
    "pneumonia": {"none": 0.05, "dry": 0.25, "productive": 0.7},
}
SMOKER = {"cold": 0.22, "flu": 0.22, "pneumonia": 0.45}
HEADACHE = {"cold": 0.35, "flu": 0.8, "pneumonia": 0.4}
DAYS = {"cold": 2.5, "flu": 2.0, "pneumonia": 6.0}
CRP = {"cold": (1.2, 0.8), "flu": (2.6, 0.7), "pneumonia": (4.6, 0.6)}
WINTER = {"cold": 0.4, "flu": 0.85, "pneumonia": 0.5}
MISSING = {"temperature": 0.04, "smoker": 0.06, "crp": 0.15, "diagnosis": 0.01}


def patients(n: int, seed: int, first: int) -> list[dict[str, str]]:
    """n rows; only `Random.random` is drawn from, which is the same in every version of Python."""
    rng = Random(seed)
    return [_patient(rng, first + i) for i in range(n)]


def _patient(rng: Random, number: int) -> dict[str, str]:
    ill = _one_of(rng, SHARE)
    row = {
        "patient": f"P{number:04}",
        "seen": _day(rng, rng.random() < WINTER[ill]).isoformat(),
        "age": f"{min(95, max(16, round(_draw_gaussian(rng, *AGE[ill]))))}",
        "temperature": f"{_draw_gaussian(rng, *TEMPERATURE[ill]):.1f}",
        "cough": _one_of(rng, COUGH[ill]),
        "smoker": "yes" if rng.random() < SMOKER[ill] else "no",
        "headache": "yes" if rng.random() < HEADACHE[ill] else "no",
        "days_ill": str(_draw_poisson(rng, DAYS[ill])),
        "crp": f"{math.exp(_draw_gaussian(rng, *CRP[ill])):.0f}",
        "diagnosis": ill,
    }
    return {name: "" if rng.random() < MISSING.get(name, 0) else value for name, value in row.items()}


def _one_of(rng: Random, shares: dict[str, float]) -> str:
    u = rng.random()
    for value, share in shares.items():
        u -= share
        if u < 0:
            return value
    return value


def _draw_gaussian(rng: Random, mean: float, deviation: float) -> float:
    """Return a draw from a Gaussian distribution (Box and Muller)."""
    radius = math.sqrt(-2 * math.log(1 - rng.random()))
    return mean + deviation * radius * math.cos(2 * math.pi * rng.random())


def _draw_poisson(rng: Random, rate: float) -> int:
    """Return a draw from a Poisson distribution (Knuth)."""
    n, p, least = 0, rng.random(), math.exp(-rate)
    while p > least:
        n, p = n + 1, p * rng.random()
    return n


def _day(rng: Random, winter: bool) -> date:
    """A day of November to March, or one of the other seven months."""
    start, days = (date(2024, 11, 1), 151) if winter else (date(2025, 4, 1), 214)
    return start + timedelta(days=int(days * rng.random()))


def as_csv(rows: list[dict[str, str]], columns: tuple[str, ...]) -> str:
    """The table as it is shipped."""
    text = StringIO()
    writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def tables() -> dict[str, str]:
    """Both files by name; those whom nobody has diagnosed yet come after the others."""
    return {
        "patients.csv": as_csv(patients(400, seed=1, first=1), COLUMNS),
        "new-patients.csv": as_csv(patients(6, seed=2, first=401), COLUMNS[:-1]),
    }


if __name__ == "__main__":
    for name, text in tables().items():
        (FOLDER / name).write_text(text)
