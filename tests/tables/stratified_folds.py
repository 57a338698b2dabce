"""The stratified assignment of rows to folds, in plain Python."""

import numpy as np


def stratified(labels, n_folds):
    """Assign the i-th row of class k to fold i + k, classes numbered as they appear; −1 where there is no label."""
    fold, numbers, passed = np.full(len(labels), -1), {}, {}
    for i, label in enumerate(labels):
        if label is not None:
            k = numbers.setdefault(label, len(numbers))
            fold[i] = (passed.get(label, 0) + k) % n_folds
            passed[label] = passed.get(label, 0) + 1
    return fold
