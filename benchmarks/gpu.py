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
Targets count whole calls. Kernels alone (`triton.testing.do_bench`, in the runs that chose the sizes of tiles) take:
sums of moments 1.6 ms, `predict` 1.65, `predict_proba` 2.07, counts of bytes 4.1, levels 2.7, products of the full
covariance 3.1. What is missing beyond them:

- A fit spends 0.6 to 1 ms in Python, more on some hosts of this machine than on others (in five runs the small fit took
  0.8 to 1.1 ms): checks of arguments, three or four launches of 40 µs each, two copies of results, statistics in pairs
  of doubles. So the fit of `GaussianNB` is at 54 to 68 % of the ceiling with sums at 83 to 91 %, and that of
  `BernoulliNB` at 66 to 77 %. Rows in other than double precision are solved when the model is first used, not in `fit`.
- `CategoricalNB`: rows are sorted by class in blocks first (0.8 ms, and 0.25 to count the labels), then each value
  costs about seven operations, in bit planes (2.7 ms; bytes of 64-bit numbers took 5.6).
- `GaussianBayes`: of about 6.5 ms products take 3.1, moments 1.4, sorting 0.1, the rest is Python and waiting between
  the two passes.
- CSR: additions in memory, of frequent words to the same places; 11 ms where all words are equally frequent.
- Streams: copies from host memory to pinned memory run at 66 GB/s by themselves and those to the device at 55; together
  with `partial_fit` less than half of that is reached. Where the rest is lost was not found.
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
