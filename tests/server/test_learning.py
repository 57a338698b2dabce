"""Learning and forgetting by HTTP: exact, on disk before they are acknowledged, and seen by all."""

import json
import os
import shutil
import signal
import threading
import time

import numpy as np
import psutil
import pyarrow as pa
import pytest
from pyarrow.csv import write_csv

import deciban
from deciban.cli import files
from deciban.errors import InputError
from deciban.server import journal, served_model
from deciban.server.journal import Entry, append_entry, lock_model, read_entries, start_journal
from deciban.server.served_model import ServedModel
from tests.cli.terminal import call
from tests.server.serving import save_clinic, serve
from tests.tables.clinic import as_text, patients

PREDICT, LEARN, FORGET = (f"/v1/models/clinic/{verb}" for verb in ("predict", "learn", "forget"))
OTHERS = [row for row in as_text(patients(210, seed=5)).to_pylist() if row["diagnosis"]][:200]


def predict(server, rows=OTHERS[:20]):
    answer = server.client.post(PREDICT, json={"rows": rows}, params={"proba": "true"}).json()
    return np.array([[row["p(ill)"], row["p(well)"]] for row in answer["predictions"]])


def expected_after(path, rows):
    model = deciban.load(path).add(pa.Table.from_pylist(rows))
    return model.predict_proba(pa.Table.from_pylist(OTHERS[:20])).to_pandas()[["ill", "well"]].to_numpy()


def wait_for(is_true):
    deadline = time.monotonic() + 20
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_learning_is_exact_and_forgetting_undoes_it(clinic):
    before, n_rows = predict(clinic), clinic.rows()
    expected = expected_after(clinic.path, OTHERS)
    answer = clinic.post(LEARN, OTHERS).json()
    assert answer == {"model": "clinic", "learned": 200, "rows": n_rows + 200, "warnings": []}
    np.testing.assert_allclose(predict(clinic), expected, rtol=1e-12)
    lines = "".join(json.dumps(row) + "\n" for row in OTHERS).encode()
    answer = clinic.client.post(FORGET, content=lines, headers={"content-type": "application/x-ndjson"}).json()
    assert answer == {"model": "clinic", "forgotten": 200, "rows": n_rows, "warnings": []}
    np.testing.assert_allclose(predict(clinic), before, rtol=1e-12)


def test_a_quiet_journal_is_written_into_the_model_file(clinic):
    n_rows = clinic.rows()
    clinic.post(LEARN, OTHERS[:1])
    wait_for(lambda: deciban.load(clinic.path).origin.rows_read == n_rows + 1)
    wait_for(lambda: os.path.getsize(f"{clinic.path}.journal") < 100)
    assert clinic.rows() == n_rows + 1
    clinic.post(FORGET, OTHERS[:1])


def test_refused_rows_change_nothing(clinic):
    before, n_rows = predict(clinic), clinic.rows()
    wrong = [{**OTHERS[0], "age": "old"}]
    assert clinic.post(LEARN, [OTHERS[1], *wrong]).status_code == 422
    assert clinic.post(LEARN, [{"age": 41}]).status_code == 422
    never = [{**OTHERS[0], "diagnosis": "nobody"}]
    response = clinic.post(FORGET, never)
    assert response.status_code == 409, response.text
    assert clinic.rows() == n_rows
    assert (predict(clinic) == before).all()


def test_a_replaced_model_file_is_loaded_and_a_broken_one_is_not(clinic, tmp_path):
    time.sleep(1.5)  # until nothing of the tests above is left in the journal
    former = tmp_path / "former.deciban"
    shutil.copy(clinic.path, former)
    n_rows = clinic.rows()
    new = deciban.train(pa.Table.from_pylist(OTHERS), target="diagnosis", judge=False)
    new.save(clinic.path)
    assert clinic.rows() == 200
    clinic.path.write_bytes(b"broken")  # in place, not atomically
    assert clinic.rows() == 200
    assert predict(clinic).shape == (20, 2)
    shutil.copy(former, clinic.path)
    assert clinic.rows() == n_rows
    broken = [event for event in clinic.events if event["event"] == "model_not_loaded"]
    assert len(broken) == 1


def test_a_large_table_is_written_into_the_model_file_at_once(clinic):
    n_rows, times = clinic.rows(), 120
    lines = b"".join(json.dumps(row).encode() + b"\n" for row in OTHERS) * times
    assert len(lines) > journal.MAX_ENTRY_BYTES
    kind = {"content-type": "application/x-ndjson"}
    assert clinic.client.post(LEARN, content=lines, headers=kind).json()["learned"] == times * 200
    assert deciban.load(clinic.path).origin.rows_read == n_rows + times * 200
    assert clinic.client.post(FORGET, content=lines, headers=kind).json()["rows"] == n_rows


def learn_until_killed(server, acknowledged):
    try:
        for row in OTHERS:
            if server.post(LEARN, [row]).status_code == 200:
                acknowledged.append(row)
    except Exception:  # the connection ends with the process
        return


def test_what_was_acknowledged_survives_kill_9(tmp_path):
    path, _ = save_clinic(tmp_path)
    base = tmp_path / "base.deciban"
    shutil.copy(path, base)
    acknowledged = []
    with serve(tmp_path, path, "--learning") as server:
        n_rows = server.rows()
        learner = threading.Thread(target=learn_until_killed, args=(server, acknowledged))
        learner.start()
        wait_for(lambda: len(acknowledged) >= 25)
        server.kill()
        learner.join()
    assert len(acknowledged) < len(OTHERS)
    with (tmp_path / "clinic.deciban.journal").open("ab") as file:
        file.write(b"\x10\0\0\0torn")  # what a crash within a write leaves
    with serve(tmp_path, path, "--learning") as server:
        learned = server.rows() - n_rows
        assert len(acknowledged) <= learned <= len(acknowledged) + 1  # one may be on disk, and not yet acknowledged
        np.testing.assert_allclose(predict(server), expected_after(base, OTHERS[:learned]), rtol=1e-9)
        server.post(LEARN, OTHERS[:1])
        assert server.stop() == 0
    assert deciban.load(path).origin.rows_read == n_rows + learned + 1


def test_the_command_add_does_not_overwrite_what_a_server_has_learned(tmp_path, monkeypatch):
    path, _ = save_clinic(tmp_path)
    before, more = path.read_bytes(), tmp_path / "more.csv"
    write_csv(pa.Table.from_pylist(OTHERS[:5]), more)
    monkeypatch.setattr(files, "MAX_LOCK_SECONDS", 0.1)
    with lock_model(str(path), time.monotonic()):
        assert "a server is writing" in call("add", path, more).stderr
    journal_path, base = f"{path}.journal", journal.hash_file(str(path))
    append_entry(journal_path, start_journal(journal_path, base), Entry({"operation": "learn"}, b"{}"))
    refused = call("add", path, more)
    assert refused.exit_code == 1
    assert "a server has learned rows" in refused.stderr
    assert path.read_bytes() == before
    start_journal(journal_path, base)
    assert call("add", path, more).exit_code == 0
    assert path.read_bytes() != before


def test_a_server_does_not_start_to_learn_while_a_command_changes_its_model(tmp_path, monkeypatch):
    path, _ = save_clinic(tmp_path)
    monkeypatch.setattr(served_model, "LOCK_SECONDS", 0.1)
    with files.lock_for_change(path), pytest.raises(InputError, match="another process is changing"):
        ServedModel("clinic", str(path), learning=True)
    ServedModel("clinic", str(path), learning=True)
    monkeypatch.setattr(files, "MAX_LOCK_SECONDS", 0.1)
    with lock_model(str(path), time.monotonic()), pytest.raises(InputError, match="a server is writing"):
        files.lock_for_change(path).__enter__()


def test_a_model_that_is_a_pipe_is_refused_by_add(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    write_csv(pa.Table.from_pylist(OTHERS[:5]), tmp_path / "more.csv")
    refused = call("add", tmp_path / "pipe", tmp_path / "more.csv")
    assert refused.exit_code == 1
    assert "not an ordinary file" in refused.stderr


@pytest.mark.thorough(reason="starts server processes, and waits for them")
def test_workers_see_what_any_of_them_has_acknowledged(tmp_path):
    path, _ = save_clinic(tmp_path)
    base = tmp_path / "base.deciban"
    shutil.copy(path, base)
    with serve(tmp_path, path, "--learning", "--workers", "2") as server:
        workers = wait_for_workers(server)
        n_rows = server.rows()
        for i, row in enumerate(OTHERS[:60]):
            server.reconnect()  # to any of the workers
            assert server.post(LEARN, [row]).json()["rows"] == n_rows + i + 1
            server.reconnect()
            assert server.rows() == n_rows + i + 1
        expected = expected_after(base, OTHERS[:60])
        for _ in range(10):
            np.testing.assert_allclose(predict(server), expected, rtol=1e-9)
        metrics = server.client.get("/metrics").text
        assert f'deciban_requests_total{{model="clinic",operation="learn",status="200"}} {60.0}' in metrics
        os.kill(workers[0].pid, signal.SIGKILL)  # a worker dies; another takes its place
        wait_for(lambda: workers[0] not in find_workers(server) and len(find_workers(server)) == 2)
        server.reconnect()
        assert server.rows() == n_rows + 60
        survivors = find_workers(server)
        server.process.kill()  # the parent alone: its workers notice
        wait_for(lambda: not any(worker.is_running() and worker.status() != "zombie" for worker in survivors))
    assert deciban.load(path).origin.rows_read == n_rows + 60


def find_workers(server):
    children = psutil.Process(server.process.pid).children()
    alive = [child for child in children if child.status() != psutil.STATUS_ZOMBIE]
    return [child for child in alive if any("spawn_main" in word for word in child.cmdline())]


def wait_for_workers(server):
    wait_for(lambda: len(find_workers(server)) == 2)
    time.sleep(3)  # until both have loaded the model
    return find_workers(server)


@pytest.mark.thorough(reason="starts server processes, and waits for them")
def test_concurrent_learners_lose_nothing(tmp_path):
    path, _ = save_clinic(tmp_path)
    with serve(tmp_path, path, "--learning", "--workers", "2") as server:
        wait_for_workers(server)
        n_rows = server.rows()
        done = []

        def learn(part):
            with server.connect() as client:
                done.extend(client.post(LEARN, json={"rows": [row]}).json()["learned"] for row in part)

        threads = [threading.Thread(target=learn, args=(OTHERS[i::4],)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(done) == 200
        assert server.rows() == n_rows + 200
        assert server.stop() == 0
    assert deciban.load(path).origin.rows_read == n_rows + 200


@pytest.mark.thorough(reason="starts server processes, and waits for them")
def test_requests_that_have_begun_are_finished_before_the_server_stops(tmp_path):
    path, _ = save_clinic(tmp_path)
    with serve(tmp_path, path) as server:
        statuses = []
        table = "age\n" + "41\n" * 300_000

        def ask():
            response = server.client.post(
                f"{PREDICT}?allow-missing-columns=true", content=table.encode(), headers={"content-type": "text/csv"}
            )
            statuses.append((response.status_code, response.content.count(b"\n")))

        thread = threading.Thread(target=ask)
        thread.start()
        time.sleep(0.4)
        assert server.stop() == 0
        thread.join()
        assert statuses == [(200, 300_001)]


def test_a_journal_is_for_one_model_file_and_drops_what_was_cut_off(tmp_path):
    path = str(tmp_path / "m.journal")
    state = start_journal(path, "base")
    first, second = Entry({"operation": "learn"}, b"1\n2"), Entry({"operation": "forget"}, b"")
    state = append_entry(path, state, first)
    end = append_entry(path, state, second)
    assert read_entries(path, "base", 0) == ([first, second], end)
    assert read_entries(path, "base", state.end) == ([second], end)
    assert read_entries(path, "other", 0)[0] == []
    for size in range(state.end, end.end):
        os.truncate(path, size)
        assert read_entries(path, "base", 0)[0] == [first]
    again = append_entry(path, state, second)
    assert read_entries(path, "base", 0) == ([first, second], again)
    assert os.stat(path).st_mode & 0o777 == 0o600


def test_after_an_entry_that_could_not_be_written_the_journal_is_as_it_was(tmp_path):
    resource = pytest.importorskip("resource")
    path = str(tmp_path / "m.journal")
    first = Entry({"operation": "learn"}, b"1\n2")
    state = append_entry(path, start_journal(path, "base"), first)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (state.end + 8, hard))  # as on a disk with space for eight bytes
    try:
        with pytest.raises(OSError, match="File too large"):
            append_entry(path, state, Entry({"operation": "learn"}, b"3\n" * 50_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert os.path.getsize(path) == state.end
    assert read_entries(path, "base", 0)[0] == [first]
