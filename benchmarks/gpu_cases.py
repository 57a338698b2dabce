"""Cases of `python -m benchmarks.gpu`: rows on a GPU, against torch by hand and against the cores of its machine.

Times are those of whole calls, host included, the device synchronised; medians.
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import deciban
from deciban.gpu import launch
from deciban.gpu.streaming import stream_arrays, stream_parquet

ROUNDS = 9
"""Timed calls of each side, after two that are not."""

CLASSES = 10

WARM_UP_SECONDS = 1.0
SAME_LOSS = 1e-6
"""The peer of logistic regression may stop this fraction above deciban's objective."""


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the page: times in seconds, the bytes that must be moved, and what is wanted of them.

    The bytes are None where other work than moving them takes the time, so that a share of the ceiling says nothing.
    """

    case: str
    ours: float
    peer: float | None
    peer_name: str
    n_bytes: float | None
    target: str
    met: bool | None
    note: str = ""


def measure(work: Callable[[], Any], rounds: int = ROUNDS) -> float:
    """Return the median seconds of a call, the device synchronised before and after it.

    Calls before the timed ones, for WARM_UP_SECONDS and at least two, compile the kernels and raise the clocks.
    """
    import torch

    times: list[float] = []
    warm_up = time.perf_counter() + WARM_UP_SECONDS
    n_calls = 0
    while len(times) < rounds:
        torch.cuda.synchronize()
        start = time.perf_counter()
        result = work()
        torch.cuda.synchronize()
        if n_calls >= 2 and start >= warm_up:
            times.append(time.perf_counter() - start)
        n_calls += 1
        del result
    return statistics.median(times)


def measure_host() -> float:
    """Return the median microseconds of a fixed loop in Python, by which hosts can be compared."""
    times = []
    for _ in range(200):
        start = time.perf_counter()
        total = 0
        for i in range(2000):
            total += i * i
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def release_memory() -> None:
    """Give back the memory of a case."""
    import gc

    import torch

    gc.collect()
    torch.cuda.empty_cache()


def find_ceiling(scale: float) -> float:
    """Return the bytes a second of a copy on the device, read and written."""
    import torch

    source = torch.empty(int(1.6e9 * scale), device="cuda").normal_()
    target = torch.empty_like(source)
    return 2 * source.numel() * 4 / measure(lambda: target.copy_(source))


def make_numbers(n: int, d: int) -> tuple[Any, Any]:
    """Draw Gaussian rows of ten classes near 1e4, whose means differ by about a standard deviation."""
    import torch

    torch.manual_seed(0)
    y = torch.randint(0, CLASSES, (n,), device="cuda")
    means = 1e4 + torch.randn((CLASSES, d), device="cuda")
    X = torch.empty((n, d), device="cuda")
    for a in range(0, n, 2_000_000):
        rows = X[a : a + 2_000_000]
        rows.normal_()
        rows += means[y[a : a + 2_000_000]]
    return X, y


def sum_one_hot(X: Any, y: Any) -> Any:
    """Compute raw moments by torch: products with indicators of the classes, blocks of rows at a time."""
    import torch

    total = torch.zeros((2, CLASSES, X.shape[1]), device="cuda")
    centre = X[:1024].mean(0)
    for a in range(0, len(X), 5_000_000):
        one = torch.nn.functional.one_hot(y[a : a + 5_000_000], CLASSES).T.float()
        gap = X[a : a + 5_000_000] - centre
        total += torch.stack([one @ gap, one @ (gap * gap)])
    return total.cpu()


def gaussian(scale: float, ceiling: float) -> Iterator[Result]:
    """Measure GaussianNB: fit, and predictions against the same formula in torch."""
    import torch

    n, d = int(5e7 * scale), 32
    X, y = make_numbers(n, d)
    name = f"GaussianNB {n:.0e} × {d}".replace("e+0", "e")
    fit, peer = measure(lambda: deciban.GaussianNB().fit(X, y)), measure(lambda: sum_one_hot(X, y))
    read = X.numel() * 4 + y.numel() * 8
    share = read / fit / ceiling
    yield Result(
        f"{name}: fit", fit, peer, "torch, one-hot products", read, "≥ 75 %, ≥ 5×", share >= 0.75 and peer / fit >= 5
    )
    sums = measure(lambda: launch.sum_moments(X, y, None, CLASSES, missing=False))
    yield Result(f"{name}: sums of a fit alone", sums, None, "", read, "no target", None, "kernel, launch and copy")
    model = deciban.GaussianNB().fit(X, y)
    mean, variance = (torch.as_tensor(a, device="cuda").float() for a in (model.theta_, model.var_))
    centre = mean.mean(0)
    slope, square = ((mean - centre) / variance).T, (-0.5 / variance).T
    constant = torch.as_tensor(np.log(model.class_prior_), device="cuda").float()
    constant = constant - 0.5 * (torch.log(2 * torch.pi * variance) + (mean - centre) ** 2 / variance).sum(1)

    def score(finish: Callable[[Any], Any]) -> list[Any]:
        blocks = (X[a : a + 5_000_000] - centre for a in range(0, n, 5_000_000))
        return [finish(gap @ slope + (gap * gap) @ square + constant) for gap in blocks]

    for method, finish, size, wanted in (
        ("predict_proba", lambda s: torch.softmax(s, 1), 4 * CLASSES, 0.6),
        ("predict", lambda s: s.argmax(1), 8, 0.75),
        ("score_samples", lambda s: torch.logsumexp(s, 1), 4, None),
    ):
        ours, theirs = measure(partial(getattr(model, method), X)), measure(partial(score, finish))
        moved = X.numel() * 4 + n * size
        target, met = ("no target", None) if wanted is None else (f"≥ {wanted:.0%}", moved / ours / ceiling >= wanted)
        yield Result(f"{name}: {method}", ours, theirs, "torch, products", moved, target, met)


def bernoulli(scale: float, ceiling: float) -> Iterator[Result]:
    """Measure the counts of BernoulliNB in bytes."""
    import torch

    n, d = int(2e7 * scale), 784
    y = torch.randint(0, CLASSES, (n,), device="cuda")
    X = torch.empty((n, d), dtype=torch.uint8, device="cuda")
    for a in range(0, n, 1_000_000):
        X[a : a + 1_000_000] = torch.randint(0, 2, (len(X[a : a + 1_000_000]), d), device="cuda", dtype=torch.uint8)

    def by_hand() -> Any:
        total = torch.zeros((CLASSES, d), device="cuda")
        for a in range(0, n, 1_000_000):
            one = torch.nn.functional.one_hot(y[a : a + 1_000_000], CLASSES).T.half()
            total += one @ (X[a : a + 1_000_000] > 0).half()
        return total.cpu()

    ours, peer, read = measure(lambda: deciban.BernoulliNB().fit(X, y)), measure(by_hand), X.numel() + n * 8
    met = read / ours / ceiling >= 0.7
    yield Result(
        f"BernoulliNB {n:.0e} × {d} uint8: fit".replace("e+0", "e"),
        ours,
        peer,
        "torch, one-hot products (half)",
        read,
        "≥ 70 %",
        met,
    )


def categorical(scale: float, ceiling: float) -> Iterator[Result]:
    """Measure the counts of CategoricalNB."""
    import torch

    n, d, V = int(1e8 * scale), 20, 20
    y = torch.randint(0, CLASSES, (n,), device="cuda")
    X = torch.randint(0, V, (n, d), dtype=torch.int32, device="cuda")
    offset = torch.arange(0, d * V, V, device="cuda")

    def by_hand() -> Any:
        total = torch.zeros(CLASSES * d * V, dtype=torch.int64, device="cuda")
        for a in range(0, n, 5_000_000):
            cell = y[a : a + 5_000_000, None] * (d * V) + offset + X[a : a + 5_000_000]
            total += torch.bincount(cell.flatten(), minlength=len(total))
        return total.cpu()

    ours, peer, read = measure(lambda: deciban.CategoricalNB().fit(X, y)), measure(by_hand, 3), X.numel() * 4 + n * 8
    met = read / ours / ceiling >= 0.5
    yield Result(
        f"CategoricalNB {n:.0e} × {d} int32, {V} levels: fit".replace("e+0", "e"),
        ours,
        peer,
        "torch, bincount",
        read,
        "≥ 50 %",
        met,
    )


def full_covariance(scale: float, ceiling: float) -> Iterator[Result]:
    """Measure GaussianBayes with full covariances, against the rate of products in single precision by tf32 × 3."""
    import torch

    n, d = int(1e7 * scale), 128
    X, y = make_numbers(n, d)
    a = torch.randn((8192, 8192), device="cuda")
    torch.backends.cuda.matmul.allow_tf32 = True
    peak = 2 * 8192**3 / measure(lambda: a @ a) / 3
    torch.backends.cuda.matmul.allow_tf32 = False

    def by_hand() -> Any:
        total = []
        for k in range(CLASSES):
            gap = X[y == k] - X[y == k].mean(0)
            total.append(gap.T @ gap)
        return torch.stack(total).cpu()

    ours, peer = measure(lambda: deciban.GaussianBayes().fit(X, y)), measure(by_hand, 3)
    share = 2 * n * d * d / ours / peak
    note = f"{share:.0%} of the rate of products, {peak / 1e12:.0f} TFLOP/s"
    case = f"GaussianBayes full {n:.0e} × {d}: fit".replace("e+0", "e")
    yield Result(
        case, ours, peer, "torch, products by class", X.numel() * 4 + n * 8, "≥ 40 % of products", share >= 0.4, note
    )


def small(scale: float, ceiling: float) -> Iterator[Result]:
    """Measure a small fit against the same in host memory."""
    X, y = make_numbers(10_000, 20)
    A, b = X.cpu().numpy(), y.cpu().numpy()
    ours, peer = (
        measure(lambda: deciban.GaussianNB().fit(X, y), 50),
        measure(lambda: deciban.GaussianNB().fit(A, b), 50),
    )
    yield Result("GaussianNB 10 000 × 20: fit", ours, peer, "deciban in host memory", None, "≤ 1 ms", ours <= 1e-3)
    model = deciban.GaussianNB().fit(X, y)
    ours, peer = measure(partial(model.predict, X), 50), measure(partial(model.predict, A), 50)
    yield Result("GaussianNB 10 000 × 20: predict", ours, peer, "deciban in host memory", None, "no target", None)


def make_csr(n: int, d: int, stored: int) -> Any:
    """Draw CSR rows with one word from each of `stored` equal parts of the vocabulary, the first ones most often."""
    import torch

    torch.manual_seed(0)
    width, columns = d // stored, torch.empty((n, stored), dtype=torch.int32, device="cuda")
    part = torch.arange(0, d, width, device="cuda", dtype=torch.int32)
    for a in range(0, n, 1_000_000):
        block = columns[a : a + 1_000_000]
        block.copy_((torch.rand(block.shape, device="cuda") ** 3 * width).int().clamp(max=width - 1) + part)
    values = torch.randint(1, 4, (n * stored,), device="cuda", dtype=torch.int8).float()
    starts = torch.arange(0, n * stored + 1, stored, device="cuda")
    return torch.sparse_csr_tensor(starts, columns.flatten(), values, size=(n, d), check_invariants=False)


def sparse_counts(scale: float, ceiling: float) -> Iterator[Result]:
    """Measure MultinomialNB of CSR rows against the same rows in host memory, by all cores."""
    import torch
    from scipy.sparse import csr_array

    n, d, stored, K = int(1e7 * scale), 100_000, 100, 20
    X, y = make_csr(n, d, stored), torch.randint(0, K, (n,), device="cuda")
    ours = measure(lambda: deciban.MultinomialNB().fit(X, y))
    parts = (part.cpu().numpy() for part in (X.values(), X.col_indices(), X.crow_indices()))
    A, b = csr_array(tuple(parts), shape=(n, d)), y.cpu().numpy()
    A.has_canonical_format = True
    peer = measure(lambda: deciban.MultinomialNB().fit(A, b), 3)
    case = f"MultinomialNB CSR {n:.0e} × 1e5, {stored} stored a row, {K} classes: fit".replace("e+0", "e")
    yield Result(case, ours, peer, "deciban, 16 cores", None, "≥ 5×", peer / ours >= 5)


def logistic(scale: float, ceiling: float) -> Iterator[Result]:
    """Measure LogisticRegression against torch's L-BFGS, to the same objective."""
    import torch

    n, d = int(1e7 * scale), 100
    torch.manual_seed(0)
    X = torch.empty((n, d), device="cuda").normal_()
    true, y = 0.3 * torch.randn((CLASSES, d), device="cuda"), torch.empty(n, dtype=torch.int64, device="cuda")
    for a in range(0, n, 1_000_000):
        noise = -torch.log(torch.empty((len(X[a : a + 1_000_000]), CLASSES), device="cuda").exponential_())
        y[a : a + 1_000_000] = (X[a : a + 1_000_000] @ true.T + noise).argmax(1)
    ours = measure(lambda: deciban.LogisticRegression().fit(X, y), 5)
    model = deciban.LogisticRegression().fit(X, y)
    counts = {}

    def by_hand() -> Any:
        counts["passes"] = 0
        return minimise_by_torch(X, y, model.objective_ / n * (1 + SAME_LOSS), 1 / n, counts)

    peer = measure(by_hand, 1)
    case = f"LogisticRegression {n:.0e} × {d}: fit".replace("e+0", "e")
    note = f"{int(model.n_iter_[0])} steps over all rows; torch {counts['passes']} passes"
    yield Result(case, ours, peer, "torch L-BFGS, strong Wolfe, history 10", None, "≥ 3×", peer / ours >= 3, note)


def minimise_by_torch(X: Any, y: Any, target: float, l2: float, counts: dict[str, int]) -> float:
    """Minimise the mean objective of logistic regression by torch to the target; return it. Counts the "passes"."""
    import torch

    weights = torch.zeros((CLASSES, X.shape[1]), device="cuda", requires_grad=True)
    bias = torch.zeros(CLASSES, device="cuda", requires_grad=True)
    search = torch.optim.LBFGS([weights, bias], max_iter=500, history_size=10, line_search_fn="strong_wolfe",
                               tolerance_grad=0, tolerance_change=0)  # fmt: skip

    class Reached(Exception):
        """The target was reached."""

    def closure() -> Any:
        search.zero_grad()
        value = torch.nn.functional.cross_entropy(X @ weights.T + bias, y) + 0.5 * l2 * (weights * weights).sum()
        counts["passes"] += 1
        if float(value.detach()) <= target:
            raise Reached
        value.backward()
        return value

    try:
        return float(search.step(closure))
    except Reached:
        return target


def streaming(scale: float, ceiling: float) -> Iterator[Result]:
    """Measure learning from host memory and from Parquet, against copies alone."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    import torch

    n, d = int(1e8 * scale), 32
    block, labels = (t.cpu().numpy() for t in make_numbers(int(1e6 * max(scale, 0.1)), d))
    X, y = np.tile(block, (n // len(block), 1)), np.tile(labels, n // len(block))
    pinned = torch.empty(1 << 28, pin_memory=True)
    target = torch.empty(1 << 28, device="cuda")
    rate = pinned.numel() * 4 / measure(lambda: target.copy_(pinned, non_blocking=True), 5)

    def learn(batches: Any) -> Any:
        model = deciban.GaussianNB()
        for rows, some in batches:
            model.partial_fit(rows, some, classes=np.arange(CLASSES))
        return model

    locked = torch.empty(X.shape, pin_memory=True).numpy()
    locked[:] = X
    for rows, where in ((X, "host memory"), (locked, "pinned memory")):
        ours, moved = measure(partial(lambda rows: learn(stream_arrays(rows, y)), rows), 3), X.nbytes + y.nbytes
        note = f"{moved / ours / 1e9:.1f} GB/s; a copy of pinned memory alone {rate / 1e9:.1f} GB/s"
        case = f"GaussianNB {n:.0e} × {d} from {where}: partial_fit".replace("e+0", "e")
        yield Result(case, ours, moved / rate, "copy of pinned memory", None, "no target", None, note)
    del locked
    with tempfile.TemporaryDirectory() as folder:
        path, few = Path(folder) / "rows.parquet", min(n, int(2e7 * scale))
        columns = {f"x{j}": X[:few, j] for j in range(d)}
        pq.write_table(pa.table({**columns, "y": y[:few]}), path, compression="none", use_dictionary=False)
        ours = measure(lambda: learn(stream_parquet(path, "y")), 3)
        peer = measure(lambda: pq.read_table(path), 3)
        moved = few * (d * 4 + 8)
        note = f"{moved / ours / 1e9:.1f} GB/s"
        case = f"GaussianNB {few:.0e} × {d} from Parquet: partial_fit".replace("e+0", "e")
        yield Result(case, ours, peer, "pyarrow.parquet.read_table", None, "no target", None, note)


CASES = {
    "gaussian": gaussian,
    "bernoulli": bernoulli,
    "categorical": categorical,
    "full": full_covariance,
    "sparse": sparse_counts,
    "logistic": logistic,
    "small": small,
    "streaming": streaming,
}
"""The cases by their names."""
