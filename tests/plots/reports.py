"""Reports to draw: rows with posteriors that are made up, of any number of classes."""

import numpy as np

from deciban.metrics import report_of

LONG = "chronic lymphocytic leukaemia, stage 2, number "


def posteriors(n, K, *, overconfident=1.0, seed=0):
    """Posteriors that are right as often as they say, or claim more than that; and the classes."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, K)) * 2
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    truth = np.array([rng.choice(K, p=row) for row in p])
    claimed = z * overconfident
    return claimed - np.log(np.exp(claimed).sum(axis=1, keepdims=True)), truth


def report(n, K, names=None, **made):
    """A report on them."""
    return report_of(*posteriors(n, K, **made), None, None, names or [f"class {k}" for k in range(K)])
