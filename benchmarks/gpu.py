"""`python -m benchmarks.gpu`: rows on a GPU, against torch by hand and against the cores of its machine; one page.

The ceiling is the rate of a copy on the device, bytes read and written. The share of it is that of the bytes that a
case has to read and write. Times are those of whole calls, host included, the device synchronised; medians. The
module needs torch, NumPy and deciban alone, so that it runs where only these are installed.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import deciban
from deciban.gpu import launch

ROUNDS = 9
"""Timed calls of each side, after two that are not."""

CLASSES = 10
PAGE = "benchmarks-gpu.md"

NOTES = """
Where targets are missed, on one H200 (times of kernels alone by `triton.testing.do_bench`, in the runs that chose
the sizes of tiles):

- A fit of `GaussianNB` spends 1.2 to 1.5 ms in Python beside the sums: checks of arguments, labels, statistics in
  pairs of doubles, the solution. The kernel takes 1.6 ms. A small fit consists of that part alone, and varies with
  the host from 1.4 to 2.4 ms.
- The kernel of `predict` takes 2.3 ms (69 %): its products are split in three (tf32 × 3), which single precision
  needs.
- Of the fit of `BernoulliNB` the kernel takes 4.5 ms (83 %) and sorting rows by class 0.35; the rest is Python and
  the sums of its parts.
- The kernel of `CategoricalNB` takes 5.6 ms and sorting 1.5: rows of 80 bytes in sorted order are read in pieces,
  and each value costs some 64-bit operations.
- The products of `GaussianBayes` take 10.8 ms at 30 TFLOP/s, moments 1.4, sorting 0.2; what the rest
  is was not measured.
- Not there: sparse rows on a device (`MultinomialNB` of CSR), `LogisticRegression` fitted on a device, copies that
  overlap with the work. cuML could not be installed.
"""


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the page: times in seconds, the bytes that must be moved, and what is wanted of them."""

    case: str
    ours: float
    peer: float | None
    peer_name: str
    n_bytes: float
    target: str
    met: bool | None
    note: str = ""


def measure(work: Callable[[], Any], rounds: int = ROUNDS) -> float:
    """Return the median seconds of a call, the device synchronised before and after it."""
    import torch

    times = []
    for i in range(rounds + 2):
        torch.cuda.synchronize()
        start = time.perf_counter()
        result = work()
        torch.cuda.synchronize()
        if i >= 2:
            times.append(time.perf_counter() - start)
        del result
    return statistics.median(times)


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
    sums = measure(lambda: launch.sum_moments(X, y, np.full(d, 1e4), CLASSES, missing=False))
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
    yield Result(
        "GaussianNB 10 000 × 20: fit", ours, peer, "deciban in host memory", X.numel() * 4, "≤ 1 ms", ours <= 1e-3
    )


CASES = {
    "gaussian": gaussian,
    "bernoulli": bernoulli,
    "categorical": categorical,
    "full": full_covariance,
    "small": small,
}


def describe(result: Result, ceiling: float) -> str:
    """Return a line of the page."""
    peer = "–" if result.peer is None else f"{result.peer * 1e3:.2f} ms ({result.peer_name})"
    ratio = "–" if result.peer is None else f"{result.peer / result.ours:.1f}×"
    share = f"{result.n_bytes / result.ours / ceiling:.0%}"
    verdict = {True: "met", False: "missed", None: "–"}[result.met]
    cells = result.case, f"{result.ours * 1e3:.2f} ms", share, peer, ratio, result.target, verdict, result.note
    return "| " + " | ".join(cells) + " |"


def write_page(lines: list[str], ceiling: float, path: Path) -> None:
    """Write the page."""
    import torch

    libraries = ", ".join(f"{name} {version(name)}" for name in ("torch", "triton", "numpy"))
    head = (
        f"# Rows on a GPU, measured\n\n`python -m benchmarks.gpu` on one {torch.cuda.get_device_name()}, "
        f"{time.strftime('%Y-%m-%d')}; {libraries}. Rows lie on the device; single precision unless said, "
        f"{CLASSES} classes.\nTimes are medians of whole calls, host included. A copy on the device moves "
        f"{ceiling / 1e12:.2f} TB/s, bytes read and written: the ceiling.\n"
        f"The share of it is that of the bytes that the case has to read and write. [Guide](guides/gpu.md).\n\n"
        f"| case | deciban | of the ceiling | peer | ratio | target | | |\n|---|---|---|---|---|---|---|---|\n"
    )
    path.write_text(head + "\n".join(lines) + "\n" + NOTES, encoding="utf-8")


def main() -> int:
    """Measure and write the page; return 1 if a target was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--only", help="one of the cases; writes no page", choices=CASES)
    parser.add_argument("--quick", action="store_true", help="a fiftieth of the sizes; writes no page")
    parser.add_argument(
        "--folder", type=Path, default=Path(__file__).parents[1] / "docs", help="the folder of the page"
    )
    arguments = parser.parse_args()
    scale = 0.02 if arguments.quick else 1.0
    ceiling = find_ceiling(scale)
    results = [
        result for name, case in CASES.items() if arguments.only in (None, name) for result in case(scale, ceiling)
    ]
    lines = [describe(result, ceiling) for result in results]
    print("\n".join(lines))
    if not arguments.quick and arguments.only is None:
        write_page(lines, ceiling, arguments.folder / PAGE)
    return int(any(result.met is False for result in results))


if __name__ == "__main__":
    sys.exit(main())
