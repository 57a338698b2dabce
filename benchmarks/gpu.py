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
