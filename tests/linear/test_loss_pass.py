import numpy as np
import pytest
import scipy.sparse as sp

from deciban.kernels import logistic_loss as kernel
from deciban.linear.design import Dense, Shared, Sparse
from deciban.linear.solvers.logistic import prepare_rows
from deciban.linear.solvers.logistic_objective import compute_losses
from tests.linear.fitting import fit_matrix

N, D = 300, 5


def parts_of(n_classes: int, scaled: bool):
    rng = np.random.default_rng(3)
    M = 1 if n_classes == 2 else n_classes
    X = rng.normal(size=(N, D)) + 2.0
    words = sp.random_array((N, 20), density=0.2, format="csr", rng=4)
    scale = rng.normal(size=(M, D)) if scaled else None
    of_words = rng.normal(size=(M, 20)) if scaled else None
    return [
        Dense(X, scale=scale),
        Sparse(words, scale=of_words),
        Dense(X.astype(np.float32) + 1e6),
        Shared(rng.normal(size=(N, 3, n_classes))),
    ]


def random_state(parts, M):
    rng = np.random.default_rng(5)
    ts = [rng.normal(size=(1, part.width) if M == 1 else part.weight_shape(M)) for part in parts]
    return ts, rng.normal(size=M)


@pytest.mark.parametrize("scaled", [False, True], ids=["plain", "scaled"])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("fast", [False, True], ids=["definition", "kernels"])
def test_gradients_agree_with_finite_differences(n_classes, scaled, fast):
    M = 1 if n_classes == 2 else n_classes
    parts, codes = parts_of(n_classes, scaled), np.random.default_rng(6).integers(n_classes, size=N).astype(np.int32)
    weight = np.random.default_rng(7).random(N)
    rows = prepare_rows(parts, codes, weight, n_classes, True, 2)
    rows.kernels = kernel if fast else None
    ts, bias = random_state(parts, M)
    loss, gradients, of_bias = rows.loss_and_gradients(ts, bias)
    assert loss == pytest.approx(weight @ compute_losses(rows.scores(ts, bias), codes), rel=1e-12)
    step = 1e-5
    for t, gradient in [*zip(ts, gradients), (bias, of_bias)]:
        for place in list(np.ndindex(t.shape))[:: max(1, t.size // 7)]:
            kept = t[place]
            t[place] = kept + step
            above = rows.loss_and_gradients(ts, bias)[0]
            t[place] = kept - step
            below = rows.loss_and_gradients(ts, bias)[0]
            t[place] = kept
            assert gradient[place] == pytest.approx((above - below) / (2 * step), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_scores_of_centred_features_are_those_of_the_parts(n_classes):
    M = 1 if n_classes == 2 else n_classes
    parts, codes = parts_of(n_classes, True), np.zeros(N, dtype=np.int32)
    rows = prepare_rows(parts, codes, None, n_classes, True, 1)
    ts, _ = random_state(parts, M)
    expected = sum(part.scores(t.reshape(part.weight_shape(M))) for part, t in zip(parts, ts))
    from deciban.linear.solvers.logistic import _compute_centring_shift

    moved = sum(_compute_centring_shift(block, t) for block, t in zip(rows.blocks, ts))
    np.testing.assert_allclose(rows.scores(ts, np.zeros(M)) + moved, expected, rtol=1e-8, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", ["dense", "single", "sparse", "wide"])
def test_the_number_of_threads_changes_no_bit(kind, n_classes):
    rng = np.random.default_rng(8)
    n, d = (700, 2500) if kind == "wide" else (40_000, 30)
    X = sp.random_array((n, d), density=0.02, format="csr", rng=9) if kind == "wide" else rng.normal(size=(n, d))
    if kind == "sparse":
        X = sp.csr_array(np.where(X > 1, X, 0))
    if kind == "single":
        X = X.astype(np.float32)
    codes = rng.integers(n_classes, size=n).astype(np.int32)
    one, two, three = (fit_matrix(X, codes, None, n_classes, l2=1.0, threads=threads) for threads in (1, 2, 3))
    for other in (two, three):
        assert one.weights.tobytes() == other.weights.tobytes()
        assert one.bias.tobytes() == other.bias.tobytes()
        assert one.objective == other.objective
