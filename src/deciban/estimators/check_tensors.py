"""Checks of rows, labels and weights that lie on a GPU: as scikit-learn checks arrays, without copying them."""

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y, validate_data

from deciban.engines import encode, is_tensor
from deciban.errors import InputError
from deciban.estimators.check_arguments import check_label_type
from deciban.estimators.check_arguments import check_weight as check_host_weight
from deciban.gpu.csr import check_pointers
from deciban.gpu.tensors import check_same_device, is_csr, on_device, to_device, to_torch


def check_tensor(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return X; refuse other than rows of the training columns.

    `reset`: X has the training columns, whose number is set, and whose names are removed.
    """
    x = to_torch(X)
    if x.ndim != 2:
        raise InputError(
            f"Expected 2D array, got {x.ndim}D array instead: X has the shape {tuple(x.shape)}. "
            f"Hint: X.reshape(-1, 1) if it is one feature, X.reshape(1, -1) if it is one row"
        )
    for size, what in zip(x.shape, ("sample", "feature")):
        if not size:
            raise InputError(
                f"Found array with 0 {what}(s) (shape={tuple(x.shape)}) while a minimum of 1 is required by "
                f"{type(estimator).__name__}."
            )
    if is_csr(x):
        with on_device(x):
            check_pointers(x)
    if reset:  # as `validate_data` does for arrays without names of columns, which takes a tenth of a millisecond
        vars(estimator).pop("feature_names_in_", None)
        estimator.n_features_in_ = int(x.shape[1])
    elif x.shape[1] != estimator.n_features_in_ or hasattr(estimator, "feature_names_in_"):
        validate_data(estimator, X, skip_check_array=True, reset=False)
    return X


def check_tensor_rows(estimator: Any, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
    """Return X and y, checked, as they are; labels in host memory, which may be texts, become an array."""
    if y is None:
        raise InputError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None."
        )
    X = check_tensor(estimator, X, reset=reset)
    if not is_tensor(y):
        labels = check_label_type(_check_y(y, estimator=estimator))
        _check_length(X, len(labels))
        return X, labels
    tensor = to_torch(y, "y")
    check_same_device(to_torch(X), tensor, "y")
    if tensor.ndim != 1:
        raise InputError(f"y should be a 1d array, got an array of shape {tuple(tensor.shape)} instead.")
    _check_length(X, len(tensor))
    if tensor.dtype.is_floating_point:
        check_classification_targets(encode(y)[0])
    return X, y


def check_tensor_weight(weight: Any, X: Any, some_positive: bool) -> Any:
    """Return row weights in double precision on the device of X, `some_positive` of them above zero."""
    x = to_torch(X)
    with on_device(x):
        if is_tensor(weight):
            w = to_torch(weight, "sample_weight")
            check_same_device(x, w, "sample_weight")
            w = w.double()
            if w.shape == (len(x),) and bool((w > 0).all()) and bool((w < np.inf).all()):
                return w
            weight = w.cpu().numpy()
        checked = check_host_weight(weight, np.empty((len(x), 1), dtype=np.int8), some_positive)
        return to_device(checked, x)


def _check_length(X: Any, n: int) -> None:
    """Refuse another number of labels than of rows."""
    if n != X.shape[0]:
        raise InputError(f"Found input variables with inconsistent numbers of samples: X has {X.shape[0]}, y {n}")
