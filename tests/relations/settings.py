"""The arguments of `train` under which every relation is compared."""

from __future__ import annotations

from typing import Any

PLAIN: dict[str, Any] = {"judge": False}
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "no evaluation": PLAIN,
    "Gaussian": {**PLAIN, "numbers": "number"},
    "bins": {**PLAIN, "numbers": "binned"},
    "naive, evaluated": {"structure": "naive", "calibrate": "none"},
    "tree": {**PLAIN, "structure": "tan"},
    "blocks": {**PLAIN, "structure": "blocks"},
    "temperature": {"structure": "naive", "calibrate": "temperature"},
    "platt": {"structure": "naive", "calibrate": "platt"},
    "isotonic": {"structure": "naive", "calibrate": "isotonic"},
    "alpha 0": {**PLAIN, "alpha": 0.0},
    "alpha auto": {**PLAIN, "alpha": "auto"},
    "unseen smooth": {**PLAIN, "unseen": "smooth"},
    "aode": {**PLAIN, "learner": "aode"},
    "logistic": {**PLAIN, "learner": "logistic", "C": 1.0},
    "logistic, C chosen": {**PLAIN, "learner": "logistic"},
    "evidence": {**PLAIN, "learner": "evidence", "C": 1.0},
    "evidence, C chosen": {**PLAIN, "learner": "evidence"},
    "boosted": {**PLAIN, "learner": "boosted"},
}
"""Names, and arguments. `logistic` and `evidence` are given C, so that a relation is of the fit alone."""

SLOW = frozenset({"boosted", "logistic, C chosen", "evidence, C chosen"})
"""Settings that `make test` leaves out."""

FITTED = frozenset({"logistic", "logistic, C chosen", "evidence", "evidence, C chosen", "boosted"})
"""Settings of learners that keep no ledger."""

EVALUATED = frozenset({"default", "naive, evaluated", "temperature", "platt", "isotonic"})
"""Settings that divide the rows in folds."""
