"""How many threads a call may use, and that nothing else depends on it."""

import os
import subprocess
import sys

import joblib
import pytest

from deciban.engines import thread_count
from deciban.engines.threads import LIMIT_VARIABLES, split_rows
from deciban.errors import InputError
from deciban.kernels.execution import map_in_threads

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


@pytest.fixture(autouse=True)
def free(monkeypatch):
    """No limits but those a test sets."""
    for name in LIMIT_VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(("n_jobs", "expected"), [(1, 1), (3, 3), (-1, CORES), (-2, max(1, CORES - 1)), (-99, 1)])
def test_n_jobs_is_honoured(n_jobs, expected):
    assert thread_count(n_jobs) == expected


def test_no_jobs_at_all_is_refused():
    with pytest.raises(InputError, match="n_jobs == 0"):
        thread_count(0)


def test_by_default_all_cores():
    assert thread_count(None) == CORES


@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "LOKY_MAX_CPU_COUNT"])
@pytest.mark.parametrize(
    ("value", "expected"),
    [("1", 1), ("99", CORES), ("", CORES), ("1,2", 1), ("0", CORES), ("?", CORES), ("²", CORES)],
)
def test_limits_of_the_environment_are_honoured(monkeypatch, name, value, expected):
    monkeypatch.setenv(name, value)
    assert thread_count(None) == expected


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_the_context_of_joblib_is_honoured(backend, n_jobs):
    with joblib.parallel_config(backend=backend, n_jobs=n_jobs):
        assert thread_count(None) == n_jobs
        assert thread_count(4) == 4


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_inside_a_worker_of_joblib_there_is_one_thread(backend):
    workers = joblib.Parallel(n_jobs=2, backend=backend)
    assert set(workers(joblib.delayed(thread_count)(None) for _ in range(4))) == {1}


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_results_come_in_the_order_of_the_blocks(threads):
    blocks = split_rows(10, 3)
    assert [(b.start, b.stop) for b in map_in_threads(lambda block: block, blocks, threads)] == [
        (0, 3),
        (3, 6),
        (6, 9),
        (9, 10),
    ]


def test_no_rows_are_one_block():
    assert split_rows(0, 5) == [slice(0, 0)]


def test_an_error_in_a_block_is_raised():
    def fail(block):
        raise ZeroDivisionError(block.start)

    with pytest.raises(ZeroDivisionError, match="0"):
        list(map_in_threads(fail, split_rows(9, 2), 3))


FRESH = """
import hashlib, sys
import numpy as np
from deciban import GaussianNB
rng = np.random.default_rng(0)
X, y = rng.normal(0, 1, (70_000, 16)), rng.integers(0, 2, 70_000)
model = GaussianNB(n_jobs=int(sys.argv[1])).fit(X[:100], y[:100])
print(hashlib.sha256(model.predict_log_proba(X).tobytes()).hexdigest())
"""


@pytest.mark.thorough(reason="starts processes that compile kernels")
def test_the_first_answer_of_a_process_does_not_depend_on_the_number_of_threads():
    """A kernel is loaded while other blocks wait: they must not go another way meanwhile."""
    runs = [subprocess.Popen([sys.executable, "-c", FRESH, n], stdout=subprocess.PIPE, text=True) for n in "13"]
    printed = [run.communicate()[0] for run in runs]
    assert all(run.returncode == 0 for run in runs)
    assert len(set(printed)) == 1
