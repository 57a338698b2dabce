"""Training inside PostgreSQL against plain aggregates: a private server, a table of 10⁶ rows and 12 columns.

The peer is the least that a database must do for the same model: one SELECT of averages and variances by class, and a
GROUP BY for each category. Both sides run in one server, warm, alternating.
"""

import io
import statistics
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np

from .case import Line, format_seconds
from .data import ROOT
from .timing import alternate

N_ROWS, N_NUMBERS, N_CATEGORIES = 1_000_000, 8, 4
MAX_TIMES, MAX_TIMES_BINNED = 2.5, 5.0
"""The greatest multiples of the plain statements' time, for Gaussians and for bins."""

NUMBERS = [f"x{i}" for i in range(N_NUMBERS)]
CATEGORIES = [f"c{i}" for i in range(N_CATEGORIES)]


def measure_push_down(quick: bool) -> Iterator[Line]:
    """Measure training in PostgreSQL without held-out figures, so that no row leaves it, and with them."""
    import deciban

    sys.path.insert(0, str(ROOT))
    postgres: Any = import_module("tests.postgres")
    if reason := postgres.reason_to_skip():
        yield Line("speed", "PostgreSQL", "–", "–", None, "–", None, reason)
        return
    rounds = 2 if quick else 5
    with postgres.running_server() as server, server.connect() as connection:
        fill_table(connection, N_ROWS // 10 if quick else N_ROWS)
        categories = dict.fromkeys(CATEGORIES, "category")
        for role, judge, limit in (
            ("number", False, MAX_TIMES), ("binned", False, MAX_TIMES_BINNED), ("number", True, None),
        ):  # fmt: skip
            roles = {**dict.fromkeys(NUMBERS, role), **categories}

            def train(roles: dict[str, str] = roles, judge: bool = judge) -> object:
                return deciban.train(server.url, table="cases", target="class", roles=roles, judge=judge)

            train()
            run_plain(connection)
            ours, peer = map(statistics.median, alternate(train, lambda: run_plain(connection), rounds))
            yield make_line(role, judge, limit, ours, peer)


def make_line(role: str, judge: bool, limit: float | None, ours: float, peer: float) -> Line:
    """Return the line of one comparison; the target is a multiple of the peer's time."""
    held_out = ", with held-out figures of a sample" if judge else ""
    case = f"PostgreSQL 10⁶ × 12, roles given ({role}, category){held_out}"
    target = "–" if limit is None else f"≤ {limit:g} × plain"
    met, goal = (None, None) if limit is None else (ours <= limit * peer, 1 / limit)
    note = f"{ours / peer:.2f} times the plain aggregates"
    return Line("speed", case, format_seconds(ours), format_seconds(peer), peer / ours, target, met, note, goal=goal)


def fill_table(connection: Any, n: int) -> None:
    """Create the table `cases`: numbers, categories of 4 to 16 values, two classes."""
    import pyarrow as pa
    import pyarrow.csv

    rng = np.random.default_rng(0)
    ill = rng.random(n) < 0.3
    columns: dict[str, Any] = {name: rng.normal(i + 0.5 * ill, 1 + i) for i, name in enumerate(NUMBERS)}
    letters = np.array(list("abcdefghijklmnop"))
    columns |= {name: letters[rng.integers(0, 4 * (i + 1), n)] for i, name in enumerate(CATEGORIES)}
    columns["class"] = np.where(ill, "ill", "well")
    types = ", ".join(f"{name} {'double precision' if name in NUMBERS else 'text'}" for name in columns)
    connection.execute(f"create table cases ({types})")
    lines = io.BytesIO()
    pyarrow.csv.write_csv(pa.table(columns), lines, pyarrow.csv.WriteOptions(include_header=False))
    with connection.cursor() as cursor, cursor.copy("copy cases from stdin csv") as copy:
        copy.write(lines.getvalue())
    connection.execute("vacuum analyze cases")


def run_plain(connection: Any) -> None:
    """Run the plain statements: averages and variances by class, and the counts of each category."""
    moments = ", ".join(f"avg({name}), var_pop({name})" for name in NUMBERS)
    connection.execute(f"select class, count(*), {moments} from cases group by class").fetchall()
    for name in CATEGORIES:
        connection.execute(f"select class, {name}, count(*) from cases group by class, {name}").fetchall()
