"""`python -m benchmarks.lab_levels`: rebuild `docs/lab/levels.md` on the pseudo-counts of levels and bins in tables.

The exit code is 2 if the data is missing.
"""

import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from deciban.errors import DecibanWarning
from deciban.families import level_families, pooled_shares
from deciban.ledger import Levels

from .lab import Figure, rebuild_page
from .lab_tables import Table, format_table, list_tables, read_table, splits
from .table_models import make_our_learner

MAX_ROWS = 9000
"""Number of rows up to which a public table is used."""

RARE_SHARE, RARE_ROWS = 0.01, 40_000
"""The share of the rare class in invented tables, and their rows."""

MAX_LOSS = 100.0
"""The largest −ln p(truth) of a row, in place of ∞."""

LAWS: Mapping[str, tuple[Any, float, bool]] = {
    "Laplace": (1.0, 1.0, True),
    "α = 1, fitted m": ("auto", 1.0, True),
    "α = ½, fitted m": ("auto", 0.5, True),
    "α = 0, fitted m": ("auto", 0.0, True),
    "α = 1, m = 0": ("auto", 1.0, False),
}
"""The argument `alpha` of `train`, the pseudo-count in place of the default's, and whether m is fitted."""

PAGE = """# Pseudo-counts of levels and bins

Written by `python -m benchmarks.lab_levels` on {date}; do not edit. Machine: {machine}.

Log-loss in the folds of [Real tables](tables.md), of naive Bayes without a calibration (`structure="naive"`,
`judge=False`), by the [pseudo-counts](../maths.md) of its levels and bins: *Laplace* is `alpha=1`,
*α = 1, fitted m* the default. At the end the tables that are won, tied and lost against Laplace: a table is won or
lost where the mean difference of its rows exceeds two standard errors.

- *shops*: a class of 1 % of the rows, and 450 shops that say nothing of it, of which 400 have two rows or so;
  *constant* is the log-loss of the shares of the classes there, {constant:.4f}.
- *rare categories*: a class of 1 %, four columns of 60 levels with other shares in it.
- *digits*: scikit-learn's, each of 64 pixels a category.
{sections}"""


def make_shops() -> Table:
    """Return rows of shops that say nothing of a rare class; most shops have few rows."""
    rng = np.random.default_rng(0)
    is_rare = rng.random(RARE_ROWS) < RARE_SHARE
    shop = np.where(
        rng.random(RARE_ROWS) < 0.98, rng.integers(0, 50, RARE_ROWS), 50 + rng.integers(0, 400, RARE_ROWS)
    )
    return Table("shops", pd.DataFrame({"shop": _name(shop), "class": np.where(is_rare, "rare", "other")}), "class")


def make_rare_categories() -> Table:
    """Return rows with four columns of 60 levels, whose shares are others in a rare class."""
    rng = np.random.default_rng(0)
    is_rare = rng.random(RARE_ROWS) < RARE_SHARE
    columns = {}
    for j in range(4):
        common, own = rng.dirichlet(np.full(60, 0.3), 2)
        rare = 0.5 * common + 0.5 * own
        drawn = [rng.choice(60, RARE_ROWS, p=shares) for shares in (common, rare)]
        columns[f"category {j}"] = _name(np.where(is_rare, drawn[1], drawn[0]))
    return Table("rare categories", pd.DataFrame({**columns, "class": np.where(is_rare, "rare", "other")}), "class")


def make_digits() -> Table:
    """Return scikit-learn's digits, each pixel a category."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    columns = {f"pixel {j}": _name(x) for j, x in enumerate(X.T.astype(int))}
    return Table("digits", pd.DataFrame({**columns, "digit": _name(y)}), "digit")


def _name(codes: NDArray[Any]) -> NDArray[np.str_]:
    """Return codes as names that nobody takes for numbers."""
    return np.char.add("v", codes.astype(str))


@contextmanager
def set_law(alpha: float, fits: bool) -> Iterator[None]:
    """Train models with this pseudo-count in place of the default's, and with or without fitted m."""
    solve = pooled_shares.pooled_pseudo_counts

    def solve_with(part: Levels, given: Any, n_more: int = 0) -> Any:
        return solve(part, np.full(part.n_features, alpha), n_more)

    def fit_nothing(part: Levels, pooled: Any, class_weight: Any) -> Any:
        return np.full(part.n_features, 1e-300)

    with (
        patch.object(level_families, "pooled_pseudo_counts", solve_with),
        patch.object(pooled_shares, "fit_pooling", pooled_shares.fit_pooling if fits else fit_nothing),
    ):
        yield


def measure_losses(table: Table, law: str) -> NDArray[np.float64]:
    """Return −ln p(truth) of each row, by a model of the other folds."""
    (argument, alpha, fits), loss = LAWS[law], np.zeros(len(table.frame))
    learn = make_our_learner(structure="naive", judge=False, alpha=argument)
    for train, test in splits(table.labels):
        with set_law(alpha, fits), warnings.catch_warnings():
            warnings.simplefilter("ignore", DecibanWarning)
            predict = learn(table.frame.iloc[train], table.target)
            known, scores = predict(table.frame.iloc[test])
        own = scores[np.arange(len(test)), np.searchsorted(known, table.labels[test])]
        loss[test] = np.minimum(-own, MAX_LOSS)
    return loss


def measure_sections() -> tuple[str, list[Figure]]:
    """Measure; return the table, of which no figure is expected."""
    tables = [read_table(name) for name in list_tables()]
    tables = [each for each in tables if len(each.frame) <= MAX_ROWS]
    tables += [make_digits(), make_shops(), make_rare_categories()]
    lines, results = [], {law: [0, 0, 0] for law in LAWS}
    for table in tables:
        losses = {law: measure_losses(table, law) for law in LAWS}
        for law, loss in losses.items():
            gain = losses["Laplace"] - loss
            error = 2 * gain.std() / np.sqrt(len(gain))
            results[law][0 if gain.mean() > error else 2 if gain.mean() < -error else 1] += 1
        lines.append([table.name, *(f"{loss.mean():.4f}" for loss in losses.values())])
        print(*lines[-1], flush=True)
    ends = ["*won/tied/lost*", "", *("/".join(map(str, results[law])) for law in LAWS if law != "Laplace")]
    medians = ["*median change*", ""]
    for j in range(2, len(LAWS) + 1):
        change = np.median([float(line[j]) / float(line[1]) - 1 for line in lines])
        medians.append(f"{100 * change:+.1f} %")
    return "\n" + format_table(["table", *LAWS], [*lines, ends, medians]), []


def main() -> int:
    """Rebuild the page; return the exit code."""
    constant = -(RARE_SHARE * np.log(RARE_SHARE) + (1 - RARE_SHARE) * np.log(1 - RARE_SHARE))
    page = PAGE.replace("{constant:.4f}", f"{constant:.4f}")
    return rebuild_page("lab_levels", "levels.md", page, measure_sections, __doc__ or "")


if __name__ == "__main__":
    sys.exit(main())
