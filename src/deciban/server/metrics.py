"""Metrics in Prometheus' text format: requests, their times, rows, requests in progress, loads of models.

With several workers each writes its numbers into files of a common folder (prometheus_client's multi-process mode),
and any of them answers with the sums.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

TIME_BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 60)
"""Upper limits of the buckets of the times of requests, in seconds."""

FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable with the common folder; prometheus_client reads it when it is imported."""


class Metrics:
    """The counters, histogram and gauge of one worker; `format` adds up those of all workers of the common folder."""

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        self._registry = registry = CollectorRegistry()
        by = ("operation", "model")
        requests = Counter("deciban_requests", "Requests answered.", (*by, "status"), registry=registry)
        times = Histogram(
            "deciban_request_seconds", "Time of a request.", by, buckets=TIME_BUCKETS, registry=registry
        )
        rows = Counter("deciban_rows", "Rows predicted, explained, learned or forgotten.", by, registry=registry)
        self._requests, self._times, self._rows = _SeriesCache(requests), _SeriesCache(times), _SeriesCache(rows)
        self.in_progress = Gauge(
            "deciban_requests_in_progress", "Requests being answered.", registry=registry, multiprocess_mode="livesum"
        )
        self.loads = Counter("deciban_model_loads", "Loads of model files.", ("model",), registry=registry)

    def count(self, operation: str, model: str, status: int, seconds: float, rows: int) -> None:
        """Record one answered request: its status, its time and its rows."""
        self._requests.find(operation, model, str(status)).inc()
        self._times.find(operation, model).observe(seconds)
        if rows:
            self._rows.find(operation, model).inc(rows)

    def format(self) -> tuple[bytes, str]:
        """Return the metrics of all workers as text, and its media type."""
        from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

        registry = self._registry
        if FOLDER_VARIABLE in os.environ:
            from prometheus_client.multiprocess import MultiProcessCollector

            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry), CONTENT_TYPE_LATEST


class _SeriesCache:
    """The series of a metric by their labels, found without prometheus_client's checks and lock."""

    def __init__(self, metric: Any) -> None:
        self._metric = metric
        self._series: dict[tuple[str, ...], Any] = {}

    def find(self, *labels: str) -> Any:
        """Return the series with these labels."""
        found = self._series.get(labels)
        if found is None:
            found = self._series[labels] = self._metric.labels(*labels)
        return found


def remove_dead_workers() -> None:
    """Delete the gauges of requests in progress of dead workers from the common folder."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder is None:
        return
    from prometheus_client.multiprocess import mark_process_dead

    for name in os.listdir(folder):
        pid = name.removesuffix(".db").rpartition("_")[2]
        if pid.isdigit() and not _is_alive(int(pid)):
            with suppress(OSError):
                mark_process_dead(int(pid), folder)  # type: ignore[no-untyped-call]


def _is_alive(pid: int) -> bool:
    """Return whether a process with this number runs; always True on Windows, where signal 0 is Ctrl+C."""
    if os.name != "nt":
        try:
            os.kill(pid, 0)  # checks the process, sends nothing
        except ProcessLookupError:
            return False
        except PermissionError:  # a process of another user
            pass
    return True
