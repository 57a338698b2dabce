"""Benchmarks of `deciban serve`: one-row predictions against MLServer, latency at a steady rate, a long table of CSV.

MLServer is installed in an environment of its own: `DECIBAN_MLSERVER` names its program, for instance after
`python -m venv env; env/bin/pip install mlserver mlserver-sklearn` as env/bin/mlserver. Both servers answer the same
request of the Open Inference Protocol, by the same model: Gaussian naive Bayes of 30 numbers (breast cancer).
Parallel workers of MLServer 1.7 do not start with uvloop 0.23, so both are one process.
"""

import asyncio
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import deciban

from .case import Group, Job, Line, format_mib, format_seconds
from .machine import read_status

CLIENTS = 16
ROUNDS = 5
REQUESTS_PER_ROUND = 8000
MIN_THROUGHPUT_RATIO = 3.0
RATE_PER_SECOND = 200
STEADY_SECONDS = 30.0
MAX_MEDIAN_SECONDS, MAX_P99_SECONDS = 0.003, 0.020
CSV_ROWS = 1_000_000
MAX_CSV_RATIO = 1.5
MAX_PEAK_MIB = 1024.0
START_SECONDS = 120.0
EXAMPLE_ROWS = 400
"""Rows of the example table, which is repeated for long ones."""

TRAIN_PEER = """
import joblib
from sklearn.datasets import load_breast_cancer
from sklearn.naive_bayes import GaussianNB
joblib.dump(GaussianNB().fit(*load_breast_cancer(return_X_y=True)), "model.joblib")
"""


def jobs(group: Group, scale: float) -> Iterator[Job]:
    """Yield the measurements of the service."""
    if group == "speed":
        yield "speed one row, 16 clients", partial(measure_throughput, scale)
        yield f"speed one row, {RATE_PER_SECOND} requests a second", partial(measure_steady_rate, scale)
        yield "speed a long table of CSV", partial(measure_long_table, scale)


@contextmanager
def run_deciban(folder: Path, *words: str) -> Iterator[tuple[int, int]]:
    """Run `deciban serve` at a free port; yield the port and the number of the process."""
    log = folder / "serve.log"
    command = [sys.executable, "-m", "deciban", "serve", *words, "--port", "0", "--seconds", "600"]
    with log.open("w") as stderr:
        process = subprocess.Popen(command, stderr=stderr, cwd=folder)
    try:
        found = None
        deadline = time.monotonic() + START_SECONDS
        while found is None and time.monotonic() < deadline:
            found = re.search(r" at http://127\.0\.0\.1:(\d+) ", log.read_text())
            time.sleep(0.05)
        if found is None:
            raise RuntimeError(f"deciban serve did not start: {log.read_text()}")
        yield int(found[1]), process.pid
    finally:
        process.terminate()
        process.wait()


def find_free_port() -> int:
    """Return a port at which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def run_mlserver(program: str, folder: Path) -> Iterator[int]:
    """Run MLServer with scikit-learn's GaussianNB; yield its port."""
    ports = dict(zip(("http_port", "grpc_port", "metrics_port"), (find_free_port() for _ in range(3))))
    settings = {"debug": False, "host": "127.0.0.1", "parallel_workers": 0, **ports}
    model = {
        "name": "cancer",
        "implementation": "mlserver_sklearn.SKLearnModel",
        "parameters": {"uri": "./model.joblib"},
    }
    (folder / "settings.json").write_text(json.dumps(settings))
    (folder / "model-settings.json").write_text(json.dumps(model))
    subprocess.run([str(Path(program).parent / "python"), "-c", TRAIN_PEER], cwd=folder, check=True)
    with (folder / "mlserver.log").open("w") as log:
        process = subprocess.Popen(
            [program, "start", "."], cwd=folder, stdout=log, stderr=log, start_new_session=True
        )
    try:
        wait_for_answer(ports["http_port"], "/v2/models/cancer/ready")
        yield ports["http_port"]
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()


def wait_for_answer(port: int, path: str) -> None:
    """Wait until a server answers with success."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", path)
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        time.sleep(0.1)
    raise RuntimeError("the peer did not start")


def make_request(port: int, path: str, body: Any) -> bytes:
    """Return a request with a body of JSON, as it is sent."""
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> bytes:
    """Send a request and return the body of its answer, which has to be a success."""
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: *(\d+)", head)
    if not head.startswith(b"HTTP/1.1 200") or length is None:
        raise RuntimeError(f"the server answered {head[:60]!r}")
    return await reader.readexactly(int(length[1]))


async def _load(port: int, request: bytes, n_requests: int) -> float:
    """Return the requests a second that 16 clients get answered, each one after the other."""

    async def run_client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(n_requests // CLIENTS):
            await ask(reader, writer, request)
        writer.close()

    start = time.perf_counter()
    await asyncio.gather(*(run_client() for _ in range(CLIENTS)))
    return n_requests / (time.perf_counter() - start)


async def _ask_once(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answer = await ask(reader, writer, request)
    writer.close()
    return answer


def run_loop(coroutine: Any) -> Any:
    """Run a coroutine by uvloop, so that the clients take little of the machine."""
    import uvloop

    return uvloop.run(coroutine)


def measure_throughput(scale: float) -> Iterator[Line]:
    """Yield the throughput of one-row predictions, both servers taking turns in one run."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer(as_frame=True)
    row = data.data.iloc[0].tolist()
    body = {"inputs": [{"name": "predict", "shape": [1, 30], "datatype": "FP64", "data": row}]}
    n_requests = max(160, round(REQUESTS_PER_ROUND * scale))
    program = os.environ.get("DECIBAN_MLSERVER") or shutil.which("mlserver")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        deciban.train(data.frame, target="target", numbers="number", judge=False).save(folder / "cancer.deciban")
        with run_deciban(folder, "cancer.deciban") as (port, _):
            ours = make_request(port, "/v2/models/cancer/infer", body)
            if program is None:
                rates = [run_loop(_load(port, ours, n_requests)) for _ in range(ROUNDS)]
                yield Line(
                    "speed", "one row of 30 numbers, 16 clients", _format_rate(float(np.median(rates))), "–", None,
                    f"≥ {MIN_THROUGHPUT_RATIO:g}×", None, "MLServer is not installed (DECIBAN_MLSERVER)",
                )  # fmt: skip
                return
            with run_mlserver(program, folder) as other:
                yield _compare_throughput(port, other, ours, body, n_requests)


def _compare_throughput(port: int, other: int, ours: bytes, body: Any, n_requests: int) -> Line:
    theirs = make_request(other, "/v2/models/cancer/infer", body)
    answers = [json.loads(run_loop(_ask_once(p, request))) for p, request in ((port, ours), (other, theirs))]
    classes = [answer["outputs"][0]["data"] for answer in answers]
    pairs = [
        (run_loop(_load(port, ours, n_requests)), run_loop(_load(other, theirs, n_requests // 4)))
        for _ in range(ROUNDS)
    ]
    mine, peer = (float(np.median(rates)) for rates in zip(*pairs))
    ratio = mine / peer
    note = f"median of {ROUNDS} rounds, taking turns; same class: {classes[0] == classes[1]}"
    case = "one row of 30 numbers, 16 clients, against MLServer"
    met = ratio >= MIN_THROUGHPUT_RATIO and classes[0] == classes[1]
    target = f"≥ {MIN_THROUGHPUT_RATIO:g}×"
    return Line(
        "speed", case, _format_rate(mine), _format_rate(peer), ratio, target, met, note, goal=MIN_THROUGHPUT_RATIO
    )


def _format_rate(rate: float) -> str:
    return f"{rate:,.0f}/s".replace(",", " ")


async def _steady(port: int, request: bytes, seconds: float) -> list[float]:
    """Return the times of requests that are due at fixed moments; each from then on, not from when it was sent."""
    idle: asyncio.Queue[Any] = asyncio.Queue()
    for _ in range(CLIENTS):
        idle.put_nowait(await asyncio.open_connection("127.0.0.1", port))
    took: list[float] = []

    async def send(due: float) -> None:
        reader, writer = await idle.get()
        await ask(reader, writer, request)
        took.append(time.perf_counter() - due)
        idle.put_nowait((reader, writer))

    start, tasks = time.perf_counter(), []
    for i in range(round(seconds * RATE_PER_SECOND)):
        due = start + i / RATE_PER_SECOND
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        tasks.append(asyncio.create_task(send(due)))
    await asyncio.gather(*tasks)
    return took


def measure_steady_rate(scale: float) -> Iterator[Line]:
    """Yield the times of one-row predictions of patients at a steady rate."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = train_patients(folder)
        row = {key: None if value == "" else value for key, value in table[0].items()}
        with run_deciban(folder, "patients.deciban") as (port, _):
            request = make_request(port, "/v1/models/patients/predict", {"rows": [row]})
            run_loop(_load(port, request, 320))
            took = run_loop(_steady(port, request, max(2.0, STEADY_SECONDS * scale)))
    median, p99 = float(np.median(took)), float(np.quantile(took, 0.99))
    target = f"≤ {format_seconds(MAX_MEDIAN_SECONDS)} at the median, {format_seconds(MAX_P99_SECONDS)} at 99 %"
    met = median <= MAX_MEDIAN_SECONDS and p99 <= MAX_P99_SECONDS
    yield Line(
        "speed", f"one row of nine columns, {RATE_PER_SECOND} requests a second: median and 99 %",
        f"{format_seconds(median)}, {format_seconds(p99)}", "–", None, target, met,
        f"{len(took)} requests, each timed from the moment at which it was due",
    )  # fmt: skip


def train_patients(folder: Path) -> list[dict[str, Any]]:
    """Write the example table and its model into a folder; return the rows, numbers as numbers."""
    import csv

    printed = subprocess.run(
        [sys.executable, "-m", "deciban", "example", "patients"], capture_output=True, check=True, text=True
    ).stdout
    (folder / "patients.csv").write_text(printed)
    deciban.train(str(folder / "patients.csv"), target="diagnosis", judge=False).save(folder / "patients.deciban")
    numbers = ("age", "temperature", "days_ill", "crp")
    rows = csv.DictReader(printed.splitlines())
    return [{k: float(v) if k in numbers and v else v for k, v in row.items()} for row in rows]


def measure_long_table(scale: float) -> Iterator[Line]:
    """Yield the time of a long table in one call against that of `deciban predict`, and the memory of the server."""
    n_rows = max(4000, round(CSV_ROWS * scale))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        train_patients(folder)
        head, _, lines = (folder / "patients.csv").read_bytes().partition(b"\n")
        with (folder / "long.csv").open("wb") as file:
            file.write(head + b"\n")
            for _ in range(n_rows // EXAMPLE_ROWS):
                file.write(lines)
        with run_deciban(folder, "patients.deciban") as (port, pid):
            mine, theirs, peaks = [], [], []
            for _ in range(3):
                start = time.perf_counter()
                peaks.append(_predict_by_command(folder))
                theirs.append(time.perf_counter() - start)
                start = time.perf_counter()
                _predict_by_server(folder, port)
                mine.append(time.perf_counter() - start)
            same = (folder / "ours.csv").read_bytes() == (folder / "out.csv").read_bytes()
            peak = read_status("VmHWM", pid)
    ratio = float(np.median(theirs) / np.median(mine))
    command_peak = max(peaks)
    ours, peer = (format_seconds(float(np.median(each))) for each in (mine, theirs))
    yield Line(
        "speed", f"{n_rows} rows of CSV in one call, against deciban predict", ours, peer, ratio,
        f"≥ {1 / MAX_CSV_RATIO:.2f}×", ratio >= 1 / MAX_CSV_RATIO and same, f"median of 3; same bytes: {same}",
        goal=1 / MAX_CSV_RATIO,
    )  # fmt: skip
    yield Line(
        "memory", f"the server after three tables of {n_rows} rows, against deciban predict", format_mib(peak),
        format_mib(command_peak), command_peak / peak, f"≤ {format_mib(MAX_PEAK_MIB)}", peak <= MAX_PEAK_MIB,
        "greatest resident memory of the process",
    )  # fmt: skip


def _predict_by_command(folder: Path) -> float:
    """Predict the table by the command; return its greatest resident memory in MiB."""
    words = ("predict", "patients.deciban", "long.csv", "-o", "out.csv")
    process = subprocess.Popen([sys.executable, "-m", "deciban", *words], cwd=folder, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"deciban predict ended with {process.returncode}")
    return usage.ru_maxrss / 1024


def _predict_by_server(folder: Path, port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    with (folder / "long.csv").open("rb") as body, (folder / "ours.csv").open("wb") as out:
        length = {"Content-Type": "text/csv", "Content-Length": str(os.path.getsize(folder / "long.csv"))}
        connection.request("POST", "/v1/models/patients/predict", body, length)
        answer = connection.getresponse()
        if answer.status != 200:
            raise RuntimeError(f"the server answered {answer.status}")
        shutil.copyfileobj(answer, out, 1 << 20)
    connection.close()
