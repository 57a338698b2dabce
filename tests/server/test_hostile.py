"""Requests that are malformed, too large, too slow or not allowed: each is a problem, and the server goes on."""

import asyncio
import json
import os
import re
import socket
import struct
import time
import warnings
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import httpx
import psutil
import pyarrow as pa
import pytest
from starlette.requests import ClientDisconnect

from deciban.server.application import create_app
from deciban.server.gate import RequestRecord
from deciban.server.request_bodies import MEMORY_BYTES, Body
from deciban.server.settings import Limits, Settings
from tests.server.serving import TOKEN, save_clinic

PREDICT = "/v1/models/clinic/predict"
JSON = {"content-type": "application/json"}
CSV = {"content-type": "text/csv"}


def assert_problem(response, status, words=""):
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert problem["status"] == status
    assert problem["type"] == "about:blank"
    assert words in problem["detail"]
    return problem["detail"]


BROKEN_BODIES = {
    b"": (400, "the JSON cannot be read: line 1, column 1"),
    b"\xff\xfe{": (400, "not valid UTF-8"),
    b'{"rows": [{"age": NaN}]}': (400, "Hint: null is a missing value"),
    '{"rows": [{"town": "Zürich", "age": NaN}]}'.encode(): (400, "Hint: null is a missing value"),
    b'{"rows": [{"age": 1e999}]}': (400, "number is infinity"),
    b'{"rows": [{"age": "\\ud800"}]}': (400, "surrogate"),
    b"[" * 100_000: (400, "depth limit"),
    b'{"rows": []}': (400, '"rows" is not a list of at least one object'),
    b'{"rows": {"age": 1}}': (400, '"rows" is not a list'),
    b'{"rows": [{}]}': (400, 'row 1 of "rows" is not an object'),
    b'{"rows": [[1]]}': (400, 'row 1 of "rows"'),
    b'{"rows": [{"age": 1}], "x": 1}': (400, 'another key than "rows"'),
    b"3": (400, 'not an object with the key "rows"'),
    b'{"rows": [{"age": [1]}]}': (422, "column 'age' holds a list in row 1"),
    b'{"rows": [{"a": 1}]}': (422, "the request body has no column 'age' (nor "),
    b'{"rows": [{"a\\u0000": 1, "age": 1}]}': (422, "has no column"),
}


@pytest.mark.parametrize("body", BROKEN_BODIES, ids=lambda body: repr(body[:24]))
def test_broken_json_is_a_problem_that_names_the_fault(clinic, body):
    status, words = BROKEN_BODIES[body]
    assert_problem(clinic.client.post(PREDICT, content=body, headers=JSON), status, words)


def test_cells_that_cannot_be_read_are_named_in_the_words_of_the_command(clinic):
    row = {**clinic.learned[0], "age": "old"}
    detail = assert_problem(clinic.post(PREDICT, [row]), 422)
    assert detail.startswith("column 'age' of the request body holds 'old' in row 1, which is not a number. Hint: ")
    assert "in training --as age=category" in detail
    assert "roles=" not in detail


BROKEN_TABLES = {
    "text/csv": [b"", b"age\n\xff\xfe\n", b"\x00" * 100, b'age,b\n"1', b"age,age\n1,2\n"],
    "application/x-ndjson": [b"", b"{", b"[1]\n", b'{"a": 1}\n{"a": ', b"\xff"],
    "application/vnd.apache.arrow.stream": [b"", b"ARROW1\0\0", os.urandom(300), b"\xff\xff\xff\xff" * 10],
    "application/vnd.apache.parquet": [b"", b"PAR1", b"PAR1" + bytes(64) + b"PAR1"],
}


@pytest.mark.parametrize("kind", BROKEN_TABLES)
def test_broken_tables_are_problems_without_paths_of_the_server(clinic, kind):
    for body in BROKEN_TABLES[kind]:
        detail = assert_problem(clinic.client.post(PREDICT, content=body, headers={"content-type": kind}), 422)
        assert "the request body" in detail
        assert "/tmp" not in detail
        assert "deciban-" not in detail


def test_forged_arrow_offsets_are_refused(clinic):
    offsets = pa.py_buffer(struct.pack("<3i", 0, 1 << 30, 1))
    array = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"x")])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema([("age", pa.string())])) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays([array], ["age"]))
    kind = {"content-type": "application/vnd.apache.arrow.stream"}
    url = f"{PREDICT}?allow-missing-columns=true"
    assert_problem(clinic.client.post(url, content=sink.getvalue().to_pybytes(), headers=kind), 422, "damaged")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("probe=true", "No such option: probe; did you mean 'proba'?"),
        ("proba=1", "Option proba: '1' is neither true nor false."),
        ("proba=true&proba=true", "Option proba is given twice."),
        ("reject-novel=1", "is not below 1"),
        ("reject=nan", "is not a number"),
        ("cost=ill", "--cost sick:healthy=20"),
        ("threshold=ill=2", "is more than 1"),
    ],
)
def test_wrong_options_are_wrong_usage(clinic, query, words):
    assert_problem(clinic.client.post(f"{PREDICT}?{query}", json={"rows": clinic.learned[:1]}), 400, words)


@pytest.mark.parametrize("query", ["keep=nobody", "cost=ill:nobody=2", "prior=x", "classes=ill,nobody"])
def test_options_that_the_model_refuses_are_problems(clinic, query):
    url = f"{'/v1/models/clinic/explain' if 'classes' in query else PREDICT}?{query}"
    assert_problem(clinic.client.post(url, json={"rows": clinic.learned[:1]}), 422)


def test_content_types_and_formats_that_are_not_known_are_refused(clinic):
    for kind in ("text/plain", "multipart/form-data", "application/x-www-form-urlencoded", "image/png", ""):
        assert_problem(clinic.client.post(PREDICT, content=b"{}", headers={"content-type": kind}), 415)
    zipped = {**JSON, "content-encoding": "gzip"}
    assert_problem(clinic.client.post(PREDICT, content=b"{}", headers=zipped), 415, "Content-Encoding")
    image = {**JSON, "accept": "image/png"}
    assert_problem(clinic.client.post(PREDICT, content=b'{"rows": [{"a": 1}]}', headers=image), 406, "text/csv")


def test_names_and_methods_that_there_are_not_are_problems(clinic):
    assert_problem(clinic.client.get("/v1/models/clinik"), 404, "did you mean 'clinic'?")
    assert_problem(clinic.client.get("/v1/models/..%2f..%2fetc%2fpasswd"), 404)
    assert_problem(clinic.client.get("/nowhere"), 404, "/docs")
    response = clinic.client.get(PREDICT)
    assert_problem(response, 405)
    assert response.headers["allow"] == "POST"


def test_wrong_tokens_see_nothing(clinic):
    for header in (
        {},
        {"authorization": TOKEN},
        {"authorization": f"Bearer {TOKEN}x"},
        {"authorization": "Bearer é"},
    ):
        raw = {name: value.encode("latin-1") for name, value in header.items()}
        for path in ("/v1/models", "/v1/models/nobody", "/metrics", "/v2", "/nowhere"):
            response = httpx.get(clinic.url + path, headers=raw, trust_env=False)
            assert_problem(response, 401, "a valid token is needed")
            assert response.headers["www-authenticate"] == "Bearer"
    for path in ("/healthz", "/docs", "/openapi.json", "/v2/health/live", "/v2/health/ready"):
        assert httpx.get(clinic.url + path, trust_env=False).status_code == 200


def test_bodies_beyond_the_limit_are_refused_before_they_are_read(clinic):
    rows = json.dumps({"rows": [{"age": 1}] * 2_000_000}).encode()
    assert_problem(clinic.client.post(PREDICT, content=rows, headers=JSON), 413, "20000000 bytes")
    endless = (b"x" * 100_000 for _ in range(3000))
    with suppress(httpx.TransportError):  # the answer may come after the connection is closed
        assert_problem(clinic.client.post(PREDICT, content=endless, headers=CSV), 413)
    assert len(list(endless)) > 2000


def test_rows_beyond_the_limit_are_refused(clinic):
    lines = b"age\n" + b"41\n" * 100_001
    url = f"{PREDICT}?allow-missing-columns=true"
    assert_problem(clinic.client.post(url, content=lines, headers=CSV), 413, "more than 100000 rows")
    assert clinic.client.post(url, content=lines[:-3], headers=CSV).status_code == 200


def open_socket(server):
    host, port = re.fullmatch(r"http://(.*):(\d+)", server.url).groups()
    return socket.create_connection((host, int(port)), timeout=20)


def format_head(length):
    lines = [
        f"POST {PREDICT} HTTP/1.1",
        "Host: 127.0.0.1",
        f"Authorization: Bearer {TOKEN}",
        "Content-Type: text/csv",
    ]
    return "\r\n".join([*lines, f"Content-Length: {length}", "", ""]).encode()


@pytest.mark.thorough(reason="starts server processes, and waits for them")
def test_a_slow_body_is_given_up(clinic):
    with open_socket(clinic) as slow:
        slow.sendall(format_head(1000) + b"age\n")
        start = time.monotonic()
        assert b" 408 " in slow.recv(4096)
        assert 4 < time.monotonic() - start < 12


def test_clients_that_leave_or_say_nothing_harm_nobody(clinic):
    for sent in (b"", b"\x16\x03\x01\x02\x00", b"GET", b"POST / HTTP/1.1\r\n", format_head(1000) + b"age"):
        with open_socket(clinic) as rude:
            rude.sendall(sent)
    with open_socket(clinic) as rude:
        rude.sendall(b"GET /" + b"x" * 200_000)
    assert clinic.post(PREDICT, clinic.learned[:1]).status_code == 200


def test_requests_beyond_the_limit_are_asked_to_come_again(clinic):
    waiting = [open_socket(clinic) for _ in range(8)]
    try:
        for each in waiting:
            each.sendall(format_head(1000) + b"age")
        time.sleep(0.5)
        response = clinic.post(PREDICT, clinic.learned[:1])
        assert_problem(response, 503, "8 requests are being answered")
        assert response.headers["retry-after"] == "1"
        assert httpx.get(clinic.url + "/healthz", trust_env=False).status_code == 200
    finally:
        for each in waiting:
            each.close()
    time.sleep(0.2)
    assert clinic.post(PREDICT, clinic.learned[:1]).status_code == 200


def test_a_body_whose_client_leaves_is_deleted():
    messages = [
        {"type": "http.request", "body": b"x" * (MEMORY_BYTES + 1), "more_body": True}, {"type": "http.disconnect"},
    ]  # fmt: skip

    async def receive():
        return messages.pop(0)

    body = Body(SimpleNamespace(scope={"deciban": RequestRecord({})}, receive=receive), "csv", Limits())
    with pytest.raises(ClientDisconnect):
        asyncio.run(body.__aenter__())
    assert body.path is not None
    assert not os.path.exists(body.path)


def test_no_temporary_files_are_left(clinic):
    open_files = [Path(file.path).name for file in psutil.Process(clinic.process.pid).open_files()]
    assert not [name for name in open_files if name.startswith("deciban-")]


@pytest.mark.thorough(reason="starts server processes, and waits for them")
def test_headers_that_never_end_are_given_up(clinic):
    with open_socket(clinic) as slow:
        slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        start = time.monotonic()
        assert slow.recv(100) == b""
        assert 8 < time.monotonic() - start < 15


def ask(app, method, path, **options):
    """Ask an application in this process."""

    async def send():
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.request(method, path, **options)

    return asyncio.run(send())


def test_a_server_without_a_token_answers_to_its_own_name_only(tmp_path, restore_warnings):
    path, rows = save_clinic(tmp_path)
    app = create_app(Settings((("clinic", str(path)),)))
    for host in ("evil.example", "127.0.0.1.evil.example", "evil.example:80", ""):
        assert_problem(ask(app, "GET", "/v1/models", headers={"host": host}), 421)
    for host in ("localhost", "localhost:99", "127.0.0.1", "[::1]:5"):
        assert ask(app, "GET", "/v1/models", headers={"host": host}).status_code == 200
    for operation in ("learn", "forget"):
        response = ask(app, "POST", f"/v1/models/clinic/{operation}", json={"rows": rows[:1]})
        assert_problem(response, 403, "deciban serve --learning")
    assert [file.name for file in tmp_path.iterdir()] == ["clinic.deciban"]


@pytest.fixture
def restore_warnings():
    """An application of this process takes the place of `warnings.showwarning`."""
    with warnings.catch_warnings():
        yield
