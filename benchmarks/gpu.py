"""`python -m benchmarks.gpu`: rows on a GPU, against torch by hand and against the cores of its machine; one page.

The ceiling is the rate of a copy on the device, bytes read and written. The share of it is that of the bytes that a
case has to read and write; it is left out where other work takes the time. Times are those of whole calls, host
included, the device synchronised; medians. The module needs torch, NumPy and deciban alone, so that it runs where
only these are installed.
"""

import argparse
import sys
import time
from importlib.metadata import version
from pathlib import Path

from .gpu_cases import CASES, CLASSES, Result, find_ceiling, measure_host, release_memory

PAGE = "benchmarks-gpu.md"

NOTES = """

The host's speed varies: in single processes on it the loop took 85 or 150 µs, with nothing else running. Three full
runs of the same code on 2026-11-18 gave the table below. Every measurement begins after a second of the same calls;
in runs without it the first case had a slower host, and `GaussianNB` 60 to 67 %. The rate of products is that after a
second of products, 111 to 115 TFLOP/s in these runs; a few calls alone reach 138, of which the fit of `GaussianBayes`
is 39 %. The verdict on `CategoricalNB` is not safe; the others were the same each time:

| case | first | second | third | target |
|---|---|---|---|---|
| GaussianNB: fit | 71 % | 73 % | 75 % (just below) | 75 % |
| BernoulliNB: fit | 75 % | 74 % | 72 % | 70 % |
| CategoricalNB: fit | 52 % | 49 % | 46 % | 50 % |
| GaussianBayes: fit | 47 % | 50 % | 47 % | 40 % |
| small fit | 0.46 ms | 0.55 ms | 0.88 ms | 1 ms |
| from host memory | 24 GB/s | 25 GB/s | 24 GB/s | – |
| from pinned memory | 54 GB/s | 53 GB/s | 52 GB/s | – |
| loop on the host | 82 to 87 µs | 82 to 88 µs | 86 to 158 µs | – |

Kernels alone (`triton.testing.do_bench`, in the runs that chose the sizes of tiles) take: sums of moments 1.6 ms,
`predict` 1.65, `predict_proba` 2.07, counts of bytes 4.1, levels 2.35, products of the full covariance 3.1. What is
missing beyond them:

- A fit spends 0.4 to 0.9 ms in Python: checks of arguments, four launches, two copies of results. Rows in
  other than double precision are solved when the model is first used, not in `fit`; the peers solve nothing either.
- `GaussianNB`: labels are counted (0.12 ms), and the host reads the counts, before the sums are launched. The
  mean of 16 rows within the kernel, in place of another launch, made it 0.6 ms slower.
- `CategoricalNB`: rows are sorted by class in blocks first (0.8 ms, and 0.25 to count the labels), then each value
  costs about five operations, in bit planes (2.35 ms, 80 % of the ceiling; counters in the bytes of 64-bit numbers
  took 5.6).
- `GaussianBayes`: products take 3.1 ms, moments 1.4, sorting 0.1; the rest is Python and waiting between the two
  passes.
- CSR: words are added in memory, frequent ones to the same places; 11 ms where all words are equally frequent.
- Streams: rows in pinned memory are copied nearly as fast as by a copy alone. Others are bound by the copy to
  pinned memory: 16 threads copy 33 to 44 GB/s there with nothing else running, and 24 to 28 while the device reads
  the memory too. Pinning the rows where they are takes longer, 19 GB/s with releasing them. Parquet is bound by
  reading it.
- cuML could not be installed there, so it is no peer.
"""


def describe(result: Result, ceiling: float) -> str:
    """Return a line of the page."""
    peer = "–" if result.peer is None else f"{result.peer * 1e3:.2f} ms ({result.peer_name})"
    ratio = "–" if result.peer is None else f"{result.peer / result.ours:.1f}×"
    share = "–" if result.n_bytes is None else f"{result.n_bytes / result.ours / ceiling:.0%}"
    verdict = {True: "met", False: "missed", None: "–"}[result.met]
    cells = result.case, f"{result.ours * 1e3:.2f} ms", share, peer, ratio, result.target, verdict, result.note
    return "| " + " | ".join(cells) + " |"


def write_page(lines: list[str], ceiling: float, host: list[float], path: Path) -> None:
    """Write the page."""
    import torch

    libraries = ", ".join(f"{name} {version(name)}" for name in ("torch", "triton", "numpy"))
    head = (
        f"# Rows on a GPU, measured\n\n`python -m benchmarks.gpu` on one {torch.cuda.get_device_name()}, "
        f"{time.strftime('%Y-%m-%d')}; {libraries}. Rows lie on the device; single precision unless said, "
        f"{CLASSES} classes.\nTimes are medians of whole calls, host included. A copy on the device moves "
        f"{ceiling / 1e12:.2f} TB/s, bytes read and written: the ceiling.\n"
        f"The share of it is that of the bytes that the case has to read and write; it is left out where "
        f"other work takes the time. On the host a loop of 2 000 "
        f"steps in Python, before each case, took {min(host):.0f} to {max(host):.0f} µs. [Guide](guides/gpu.md).\n\n"
        f"| case | deciban | of the ceiling | peer | ratio | target | | |\n|---|---|---|---|---|---|---|---|\n"
    )
    path.write_text(head + "\n".join(lines) + "\n" + NOTES, encoding="utf-8")


def main() -> int:
    """Measure and write the page; return 1 if a target was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--only", help=f"cases, of {', '.join(CASES)}; writes no page")
    parser.add_argument("--quick", action="store_true", help="a fiftieth of the sizes; writes no page")
    parser.add_argument(
        "--folder", type=Path, default=Path(__file__).parents[1] / "docs", help="the folder of the page"
    )
    arguments = parser.parse_args()
    scale = 0.02 if arguments.quick else 1.0
    ceiling = find_ceiling(scale)
    results: list[Result] = []
    host: list[float] = []
    for name in CASES if arguments.only is None else arguments.only.split(","):
        host.append(measure_host())
        for result in CASES[name](scale, ceiling):
            results.append(result)
            print(describe(result, ceiling), flush=True)
        release_memory()
    lines = [describe(result, ceiling) for result in results]
    if not arguments.quick and arguments.only is None:
        write_page(lines, ceiling, host, arguments.folder / PAGE)
    print(f"a loop of 2 000 steps in Python before each case, µs: {', '.join(f'{each:.0f}' for each in host)}")
    return int(any(result.met is False for result in results))


if __name__ == "__main__":
    sys.exit(main())
