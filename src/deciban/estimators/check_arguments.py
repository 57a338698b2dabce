"""Checks of the arguments of estimators: X, y, weights of rows and of classes, classes and their prior.

Tensors are checked where they lie, as scikit-learn checks arrays, without copying rows.
"""

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Hidden, Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, _check_y, check_consistent_length, validate_data

from deciban._typing import Array, Codes
from deciban.engines import InvalidValueError, encode, is_tensor, keep_rows, to_host
from deciban.errors import InputError, unknown_class_error, warn_caller
from deciban.families.family import GAUSSIAN_PARAMETERS, ClassPrior
from deciban.gpu.tensors import check_same_device, is_csr, on_device, to_device, to_torch
from deciban.metrics.calibration_fit import METHODS
from deciban.sources.arrow_types import to_plain_types

NAMED_VALUES: dict[str, tuple[str, list[Any]]] = {
    "non-negative": ("float ≥ 0", [Interval(Real, 0, None, closed="left")]),
    "positive": ("float > 0", [Interval(Real, 0, None, closed="neither")]),
    "positive or infinite": ("float > 0", [Interval(Real, 0, None, closed="right")]),
    "non-negative integer": ("int ≥ 0", [Interval(Integral, 0, None, closed="left")]),
    "positive integer": ("int ≥ 1", [Interval(Integral, 1, None, closed="left")]),
    "share": ("float from 0 to 1", [Interval(Real, 0, 1, closed="both")]),
    "proper share": ("float between 0 and 1", [Interval(Real, 0, 1, closed="neither")]),
    "boolean": ("bool", ["boolean"]),
    "array-like": ("array-like", ["array-like"]),
    "auto": ("'auto'", [StrOptions({"auto"})]),
    "covariance": ("str", [StrOptions(set(GAUSSIAN_PARAMETERS))]),
    "missing": ("'skip' or 'error'", [StrOptions({"skip", "error"})]),
    "unseen": ("'ignore', 'smooth' or 'error'", [StrOptions({"ignore", "smooth", "error"})]),
    "n_jobs": ("int or None", [None, Interval(Integral, None, None, closed="neither")]),
    "priors": (
        "array-like, 'empirical', 'smoothed', 'uniform' or None",
        ["array-like", StrOptions({"empirical", "smoothed", "uniform"}), None],
    ),
    "calibrate": (
        f"'auto', {', '.join(map(repr, METHODS))}, 'none' or None",
        [StrOptions({"auto", "none", *METHODS}), None],
    ),
    "random_state": ("int, Generator, RandomState or None", ["random_state", np.random.Generator]),
    "verbose": ("int", ["verbose"]),
}
"""Values that arguments may have, by the names that `allow` takes: described, with scikit-learn's constraint."""


def allow(*values: Any) -> dict[str, Any]:
    """Return the metadata of a constructor's argument, a dataclass field: the values it may have, and their type.

    They are given by their names in `NAMED_VALUES`, as a set of texts, or as in scikit-learn's
    `_parameter_constraints`.

    >>> allow("non-negative", "auto", None)["type"]
    "float ≥ 0, 'auto' or None"
    """
    pairs = [_describe_values(each) for each in values]
    *first, last = [kind for kind, _ in pairs if kind]
    kind = f"{', '.join(first)} or {last}" if first else last
    return {"allowed": [constraint for _, allowed in pairs for constraint in allowed], "type": kind}


def _describe_values(values: Any) -> tuple[str, list[Any]]:
    """Return the description of values, empty for hidden ones, and scikit-learn's constraints."""
    if isinstance(values, str):
        return NAMED_VALUES[values]
    if isinstance(values, set):
        return ", ".join(map(repr, sorted(values))), [StrOptions(values)]
    return "" if isinstance(values, Hidden) else str(getattr(values, "__name__", values)), [values]


def check_rows(estimator: Any, X: Any, y: Any, *, reset: bool, on_device: bool = False) -> tuple[Any, Any]:
    """Return X and y as arrays of equal length, by scikit-learn's rules; NaN and ±∞ in X are checked later.

    Tensors stay on their device for estimators that learn `on_device`; else they are copied to host memory.
    """
    if is_tensor(X) and on_device:
        return _check_tensor_rows(estimator, X, y, reset=reset)
    X, y = to_host(X), to_host(y)
    X, y = validate_data(estimator, X, y, accept_sparse="csr", ensure_all_finite=False, reset=reset)
    return X, check_label_type(y)


def check_label_type(y: NDArray[Any]) -> NDArray[Any]:
    """Return the labels; refuse labels without a common order, and numbers that cannot be classes."""
    if y.dtype.kind == "O":
        encode(y)
    if y.dtype.kind not in "iubUS":
        check_classification_targets(y)
    return y


def check_labels(estimator: Any, y: Any, rows: Any) -> NDArray[Any]:
    """Return y as an array with a label for each row of a table, or each document."""
    if y is None:
        raise InputError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None."
        )
    labels: NDArray[Any] = _check_y(y, estimator=estimator)
    check_consistent_length(rows, labels)
    return check_label_type(labels)


def get_feature_names(estimator: Any) -> tuple[str, ...] | None:
    """Return the names of the training columns as strings; None where they have none."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else tuple(str(name) for name in names)


def check_X(estimator: Any, X: Any) -> Any:
    """Return X, an array, CSR matrix or tensor, checked for the training columns; NaN and ±∞ are checked later."""
    is_plain = type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind in "fiub" and len(X) > 0
    if is_plain and X.shape[1] == estimator.n_features_in_ and "feature_names_in_" not in vars(estimator):
        return X
    if is_tensor(X):
        return _check_tensor(estimator, X, reset=False)
    return validate_data(estimator, X, accept_sparse="csr", ensure_all_finite=False, reset=False)


def check_weight(weight: Any, X: Any, some_positive: bool = False) -> Array | None:
    """Return row weights as doubles, a tensor where X is one; None if not given. InputError for invalid ones.

    `some_positive`: weights that are all 0 are refused; recent versions of scikit-learn refuse them always.
    """
    if weight is None:
        return None
    if is_tensor(X):
        return _check_tensor_weight(weight, X, some_positive)
    weight = to_host(weight)
    try:
        w = np.asarray(_check_sample_weight(weight, X, dtype=np.float64))
    except ValueError as error:
        hint = "one finite weight of 0 or more for each row, not all of them 0"
        raise InputError(f"{str(error).rstrip('.!')}. Hint: {hint}") from None
    if (w < 0).any():
        i = int(np.argmax(w < 0))
        raise InputError(
            f"Negative values in data passed to `sample_weight`: row {i} weighs {w[i]:g}. "
            f"Hint: 0 leaves a row out; forget(X, y) unlearns rows of a generative model"
        )
    if not np.isfinite(w.sum()):
        raise InputError(
            "sample_weight adds up to more than a double holds (1.8e308). Hint: divide it by its largest"
        )
    if some_positive and not w.any():
        raise InputError("sample_weight is zero in every row, so there is nothing to learn from")
    return w


def _check_tensor(estimator: Any, X: Any, *, reset: bool) -> Any:
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
        from deciban.gpu.csr import check_pointers

        with on_device(x):
            check_pointers(x)
    if reset:  # as `validate_data` does for arrays without names of columns, which takes a tenth of a millisecond
        vars(estimator).pop("feature_names_in_", None)
        estimator.n_features_in_ = int(x.shape[1])
    elif x.shape[1] != estimator.n_features_in_ or hasattr(estimator, "feature_names_in_"):
        validate_data(estimator, X, skip_check_array=True, reset=False)
    return X


def _check_tensor_rows(estimator: Any, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
    """Return X and y, checked, as they are; labels in host memory, which may be texts, become an array."""
    if y is None:
        raise InputError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None."
        )
    X = _check_tensor(estimator, X, reset=reset)
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


def _check_tensor_weight(weight: Any, X: Any, some_positive: bool) -> Any:
    """Return row weights in double precision on the device of X; see `check_weight`."""
    x = to_torch(X)
    with on_device(x):
        if is_tensor(weight):
            w = to_torch(weight, "sample_weight")
            check_same_device(x, w, "sample_weight")
            w = w.double()
            if w.shape == (len(x),) and bool((w > 0).all()) and bool(w.sum() < np.inf):
                return w
            weight = w.cpu().numpy()
        checked = check_weight(weight, np.empty((len(x), 1), dtype=np.int8), some_positive)
        return to_device(checked, x)


def _check_length(X: Any, n: int) -> None:
    """Refuse another number of labels than of rows."""
    if n != X.shape[0]:
        raise InputError(f"Found input variables with inconsistent numbers of samples: X has {X.shape[0]}, y {n}")


def drop_weightless_rows(X: Any, codes: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Return rows, class codes and weights without rows of weight zero, whose levels and values have no effect."""
    if weight is None or weight.all():
        return X, codes, weight
    if is_tensor(X):
        return keep_rows(X, codes, weight)
    kept = np.flatnonzero(weight)
    return take_rows(X, kept), codes[kept], weight[kept]


def take_rows(rows: Any, index: NDArray[np.intp]) -> Any:
    """Return some of the rows of an array, a sparse matrix, a table, documents, or what scikit-learn indexes."""
    if hasattr(rows, "num_rows"):
        return to_plain_types(rows).take(index)
    if isinstance(rows, np.ndarray) or hasattr(rows, "tocsr") or type(rows).__module__.startswith("deciban"):
        return rows[index]
    from sklearn.utils import _safe_indexing

    return _safe_indexing(rows, index)


def choose_dtype(X: Any) -> np.dtype[Any]:
    """Return float32 if X has that dtype, else float64, also for tables and documents."""
    is_single = str(getattr(X, "dtype", None)) in ("float32", "torch.float32")
    return np.dtype(np.float32 if is_single else np.float64)


def check_declared_classes(estimator: Any, classes: Any) -> NDArray[Any]:
    """Return the classes of a `partial_fit`: they are passed on the first call, and are the same on every other."""
    known = getattr(estimator, "classes_", None)
    if known is None:
        if classes is None:
            raise InputError(
                "classes must be passed on the first call to partial_fit. "
                "Hint: partial_fit(X, y, classes=np.unique(all_labels))"
            )
        array = np.asarray(classes)
        if len(np.unique(array)) != array.size:
            raise InputError(f"`classes={classes!r}` names a class twice")
        return np.unique(array)
    if classes is not None and not np.array_equal(known, np.sort(np.asarray(classes))):
        raise InputError(f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {known!r}")
    return np.asarray(known)


def describe_invalid_value(
    bad: InvalidValueError, estimator: str, names: Sequence[str] | None, hint: str, skips_missing: bool, row: int
) -> str:
    """Return the message about an invalid value for users of scikit-learn: its sentence, then column, value, hint."""
    column = f"column {bad.column if names is None else repr(str(names[bad.column]))}"
    where = f"{column}, row {row}"
    if bad.rule == "negative":
        values = "1 negative value" if bad.count == 1 else f"{bad.count} negative values"
        return (
            f"Negative values in data passed to {estimator} (input X). {column} has {values} "
            f"(first: {bad.value:g} in row {row}). Hint: {hint}"
        )
    if bad.rule == "missing":
        return f"Input X contains NaN. {estimator} found a missing value in {where}. Hint: {hint}"
    if bad.rule == "infinite":
        return (
            f"Input X contains infinity or a value too large for dtype('float64'). {where} holds {bad.value:g}. "
            f"Hint: {'replace it by NaN to treat it as missing' if skips_missing else hint}"
        )
    if bad.rule == "too many levels":
        return f"{estimator} takes level codes 0, 1, 2, …; {where} holds {bad.value:g}. Hint: {hint}"
    return (
        f"With binarize=None, {estimator} takes values between 0 and 1; {where} holds {bad.value:g}. "
        f"Hint: binarize=0.0 counts what is above zero."
    )


def apply_class_weight(
    class_weight: Mapping[Any, float] | str | None, classes: NDArray[Any], codes: Codes, weight: Array | None
) -> Array | None:
    """Return the rows' weights times that of their class: as given (else 1), or such that all classes weigh the same.

    "balanced" is scikit-learn's n / (K n_k), n and n_k the weight of all rows and of those of class k.

    >>> apply_class_weight("balanced", np.array(["a", "b"]), np.array([0, 0, 0, 1], dtype=np.int32), None).tolist()
    [0.6666666666666666, 0.6666666666666666, 0.6666666666666666, 2.0]
    """
    if class_weight is None:
        return weight
    if isinstance(class_weight, str):
        rows = np.bincount(codes, weights=weight).astype(np.float64)
        by_class = np.where(rows > 0, rows.sum() / (len(rows) * np.where(rows > 0, rows, 1.0)), 1.0)
    else:
        by_class = _check_class_weight(class_weight, classes)
    return by_class[codes] if weight is None else weight * by_class[codes]


def _check_class_weight(class_weight: Any, classes: NDArray[Any]) -> Array:
    """Return the weight of each class, 1 where none is given; refuse invalid ones.

    Unknown classes are refused too, unless every class of the model has a weight.
    """
    labels = classes.tolist()
    unknown = [label for label in class_weight if label not in labels]
    if unknown and len(class_weight) - len(unknown) < len(labels):  # if all classes are given, more are allowed
        raise unknown_class_error(unknown[0], labels)
    given = [class_weight.get(label, 1.0) for label in labels]
    for label, value in zip(labels, given):
        if isinstance(value, str) or not np.isfinite(value) or value < 0:
            raise InputError(f"class_weight of {label!r} must be a finite number of at least 0, not {value!r}")
    return np.array(given, dtype=np.float64)


def parse_prior(given: Any, alpha: float, n_classes: int, *, scaled: bool) -> ClassPrior:
    """Return the class prior of a name (None: "empirical"), or of an array with one share ≥ 0 for each class.

    Shares that do not add up to one are `scaled`, with a warning (as scikit-learn's count models do), or refused
    (as its Gaussian one does).
    """
    if given is None or isinstance(given, str):
        return ClassPrior(given or "empirical", alpha)  # type: ignore[arg-type]
    p = np.asarray(given, dtype=np.float64)
    if p.shape != (n_classes,):
        raise InputError(
            f"Number of priors must match number of classes. Got shape {p.shape} for {n_classes} classes."
        )
    if not (p >= 0).all():
        raise InputError(f"Priors must be non-negative. Got {p.tolist()}.")
    if not np.isclose(p.sum(), 1.0):
        if not scaled or not (np.isfinite(p).all() and p.any()):
            raise InputError(f"The sum of the priors should be 1. Got {p.sum():g}.")
        warn_caller(f"class_prior sums to {p.sum():g}; it is scaled to sum to 1")
        p = p / p.sum()
    return ClassPrior("given", given=tuple(p.tolist()))
