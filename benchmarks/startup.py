"""Start-up in fresh processes: the first small prediction, the first large fit, a read-only installation."""

import compileall
import json
import shutil
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

from . import child
from .case import Line, format_seconds
from .data import ROOT

SMALL_FIT_SCRIPT = """
import json, sys, time
start = time.perf_counter()
from {module} import GaussianNB
import numpy as np
iris = np.load({iris!r})
model = GaussianNB().fit(iris["X"], iris["y"])
model.predict(iris["X"])
took = time.perf_counter() - start
row = np.ascontiguousarray(np.tile(iris["X"], (1, 25))[:, :100])
model = GaussianNB().fit(row, iris["y"])
calls = [time.perf_counter()]
for _ in range(2000):
    model.predict(row[:1])
    calls.append(time.perf_counter())
print(json.dumps([took, float(np.median(np.diff(calls))), "numba" in sys.modules]))
"""
FIRST_FIT_CASES = (
    "GaussianNB 10⁶×50 float64, K=10",
    "GaussianNB 10⁶×50 float32, K=10",
    "BernoulliNB 200 000×784 uint8, K=10",
    "CategoricalNB 10⁶×20 int64, 20 levels, K=10",
    "MultinomialNB CSR 100 000×100 000, K=20",
    "GaussianBayes full 2·10⁵×100, K=10",
)


def measure_first_prediction(quick: bool) -> Iterator[Line]:
    """Measure the time from `import` to the first prediction on iris, and of one row while numba is not loaded."""
    from sklearn.datasets import load_iris

    compileall.compile_dir(ROOT / "src", quiet=1)  # as an installation does; the peer's files are compiled too
    repeats = 3 if quick else 11
    results_by_module: dict[str, list[tuple[float, float, bool]]] = {"deciban": [], "sklearn.naive_bayes": []}
    with tempfile.TemporaryDirectory() as folder:
        import numpy as np

        path = str(Path(folder, "iris.npz"))
        X, y = load_iris(return_X_y=True)
        np.savez(path, X=X, y=y)
        for _ in range(repeats):
            for module, results in results_by_module.items():
                results.append(child.run("-c", SMALL_FIT_SCRIPT.format(module=module, iris=path)))
    yield from format_small_lines(results_by_module["deciban"], results_by_module["sklearn.naive_bayes"])


def format_small_lines(
    ours: list[tuple[float, float, bool]], peer: list[tuple[float, float, bool]]
) -> Iterator[Line]:
    """Yield the medians over the fresh processes."""
    a, b = (statistics.median(took for took, _, _ in side) for side in (ours, peer))
    numba = "numba loaded" if any(loaded for _, _, loaded in ours) else "numba not loaded"
    note = f"median of {len(ours)} processes each; {numba}"
    goal = 1 / 1.15
    name = "import, fit and predict iris"
    yield Line(
        "start-up", name, format_seconds(a), format_seconds(b), b / a, "≤ 1.15× peer", b / a >= goal, note, goal=goal
    )
    a, b = (statistics.median(row for _, row, _ in side) for side in (ours, peer))
    name = "one row of 100 features, small fit, fresh process"
    yield Line("start-up", name, format_seconds(a), format_seconds(b), b / a, "no target", None, numba)


def measure_first_large_fit(scale: float) -> Iterator[Line]:
    """Measure the cost of compiling: the first large fit with an empty kernel cache, minus the second."""
    for name in FIRST_FIT_CASES:
        with tempfile.TemporaryDirectory() as cache:
            answer = child.run("-m", "benchmarks.startup", name, str(scale), environment={"NUMBA_CACHE_DIR": cache})
        extra = answer["first"] - answer["second"]
        note = f"first {format_seconds(answer['first'])}, second {format_seconds(answer['second'])}"
        short = f"first large fit, no kernel cache: {name}"
        yield Line("start-up", short, f"+{format_seconds(extra)}", "–", None, "≤ +3 s", extra <= 3, note)


def check_read_only_installation(scale: float) -> Iterator[Line]:
    """Fit with a copy of the package for which nobody, root included, can write a kernel cache.

    Every `__pycache__` in the copy is a regular file, and so is the parent of all other folders that Numba tries.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "site")
        shutil.copytree(ROOT / "src", copy, ignore=shutil.ignore_patterns("__pycache__"))
        for package in [path.parent for path in copy.rglob("__init__.py")] + [copy / "deciban" / "kernels"]:
            (package / "__pycache__").touch()
        blocker = Path(folder, "blocker")
        blocker.touch()
        places = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR", "LOCALAPPDATA"), str(blocker / "cache"))
        environment = {**places, "PYTHONPATH": str(copy)}
        answer = child.run("-m", "benchmarks.startup", FIRST_FIT_CASES[0], str(scale), environment=environment)
    inside = Path(answer["package"]).is_relative_to(copy)
    met = inside and answer["warnings"] == 1
    note = f"{answer['warnings']} warning about the kernel cache; first fit {format_seconds(answer['first'])}"
    yield Line("start-up", "read-only installation, large fit", "works", "–", None, "works, warns once", met, note)


def time_two_fits(name: str, scale: float) -> dict[str, object]:
    """Time two large fits in this process, and count the warnings about a missing kernel cache."""
    import deciban

    from .array_cases import find_case

    case = find_case(name)
    X, y = case.data(scale)
    times = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            start = time.perf_counter()
            case.ours().fit(X, y)
            times.append(time.perf_counter() - start)
    n_warnings = sum("NUMBA_CACHE_DIR" in str(warning.message) for warning in caught)
    return {"first": times[0], "second": times[1], "warnings": n_warnings, "package": deciban.__file__}


if __name__ == "__main__":
    print(json.dumps(time_two_fits(sys.argv[1], float(sys.argv[2]))))
