"""`python -m benchmarks.gpu`: rows on a GPU, against torch by hand and against the cores of its machine; one page.

The ceiling is the rate of a copy on the device, bytes read and written. The share of it is that of the bytes that a
case has to read and write. Times are those of whole calls, host included, the device synchronised; medians. The
module needs torch, NumPy and deciban alone, so that it runs where only these are installed.
"""

import argparse
import sys
import time
from importlib.metadata import version
from pathlib import Path

from .gpu_cases import CASES, CLASSES, Result, find_ceiling, release_memory

PAGE = "benchmarks-gpu.md"

NOTES = """
The host's speed varies. Three full runs within a quarter of an hour, which differ only in how batches are streamed,
gave these; the table above is the third, so its verdicts on `BernoulliNB`, `GaussianBayes` and the small fit are not
safe:

| case | first | second | third (above) | target |
|---|---|---|---|---|
| GaussianNB: fit | 63 % | 73 % | 74 % | 75 % |
| BernoulliNB: fit | 68 % | 69 % | 76 % | 70 % |
| CategoricalNB: fit | 40 % | 45 % | 46 % | 50 % |
| GaussianBayes: fit | 39 % | 35 % | 40 % | 40 % |
| small fit | 0.95 ms | 1.07 ms | 0.52 ms | 1 ms |

Kernels alone (`triton.testing.do_bench`, in the runs that chose the sizes of tiles) take: sums of moments 1.6 ms,
`predict` 1.65, `predict_proba` 2.07, counts of bytes 4.1, levels 2.7, products of the full covariance 3.1. What is
missing beyond them:

- A fit spends 0.5 to 1 ms in Python: checks of arguments, three or four launches, two copies of results. Rows in
  other than double precision are solved when the model is first used, not in `fit`; the peers solve nothing either.
- `CategoricalNB`: rows are sorted by class in blocks first (0.8 ms, and 0.25 to count the labels), then each value
  costs about seven operations, in bit planes (2.7 ms; counters in the bytes of 64-bit numbers took 5.6).
- `GaussianBayes`: products take 3.1 ms, moments 1.4, sorting 0.1; the rest is Python and waiting between the two
  passes.
- CSR: words are added in memory, frequent ones to the same places; 11 ms where all words are equally frequent.
- Streams: rows are copied to pinned memory at 66 GB/s by themselves, and batches of 64 MB stream at 42 GB/s without
  learning; together with `partial_fit` (0.9 ms a batch) only 20 are reached. Why was not found. Parquet is bound by
  reading it.
- cuML could not be installed there, so it is no peer.
"""


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
    parser.add_argument("--only", help=f"cases, of {', '.join(CASES)}; writes no page")
    parser.add_argument("--quick", action="store_true", help="a fiftieth of the sizes; writes no page")
    parser.add_argument(
        "--folder", type=Path, default=Path(__file__).parents[1] / "docs", help="the folder of the page"
    )
    arguments = parser.parse_args()
    scale = 0.02 if arguments.quick else 1.0
    ceiling = find_ceiling(scale)
    results = []
    for name in CASES if arguments.only is None else arguments.only.split(","):
        for result in CASES[name](scale, ceiling):
            results.append(result)
            print(describe(result, ceiling), flush=True)
        release_memory()
    lines = [describe(result, ceiling) for result in results]
    if not arguments.quick and arguments.only is None:
        write_page(lines, ceiling, arguments.folder / PAGE)
    return int(any(result.met is False for result in results))


if __name__ == "__main__":
    sys.exit(main())
