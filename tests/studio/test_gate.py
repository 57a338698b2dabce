"""The studio answers the browser that has used its token, and nobody else."""

import pytest

from tests.studio.studio_client import StudioClient

CHANGES = ["/open/example", "/open/path", "/open/file", "/open/roles", "/train/start", "/job/stop", "/compare/merge"]


def test_a_token_is_exchanged_for_a_cookie_once(visitor):
    path = visitor.access.path
    first = visitor.get(path, follow_redirects=False)
    assert (first.status_code, first.headers["location"]) == (303, "/")
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    visitor.cookies.clear()
    again = visitor.get(path)
    assert again.status_code == 401
    assert "was used before" in again.text


def test_a_new_address_is_reported_after_each_use(tmp_path):
    reported = []
    client = StudioClient(tmp_path, report_address=reported.append)
    client.enter()
    assert reported == [client.access.path]
    client.cookies.clear()
    client.enter()
    assert len(reported) == 2


def test_without_the_cookie_nothing_is_shown(visitor):
    for path in ("/", "/open", "/take-away/model", "/job", "/look/picture/roc", "/nowhere"):
        assert visitor.get(path).status_code == 401
    assert visitor.post("/open/example", data={"name": "iris"}).status_code == 401
    assert visitor.workspace.data is None


def test_errors_without_the_cookie_say_nothing_of_what_is_open(studio):
    studio.post("/open/example", data={"name": "iris"})
    studio.workspace.notice = "Only for the user."
    studio.cookies.clear()
    for path in ("/static/nothing.css", "/open", "/nowhere"):
        page = studio.get(path).text
        assert "iris" not in page
        assert "Only for the user" not in page
    assert studio.workspace.notice == "Only for the user."


@pytest.mark.parametrize("cookie", ["wrong", "", "a=b; c", "é"])
def test_another_cookie_is_refused(visitor, cookie):
    header = f"{visitor.access.cookie_name}={cookie}".encode()
    assert visitor.get("/open", headers={b"cookie": header}).status_code == 401


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "192.168.1.2", ""])
def test_another_host_is_refused_so_that_dns_rebinding_fails(studio, host):
    answer = studio.get("/open", headers={"host": host})
    assert answer.status_code == 421


@pytest.mark.parametrize("host", ["localhost:8000", "127.0.0.1:8000", "[::1]:8000"])
def test_names_of_this_machine_are_answered(studio, host):
    assert studio.get("/job", headers={"host": host}).status_code in (200, 401)  # cookies are of one host


@pytest.mark.parametrize("path", CHANGES)
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:8000", "http://127.0.0.1:9000"])
def test_a_request_of_another_site_is_refused(studio, path, origin):
    assert studio.post(path, data={"name": "iris"}, headers={"origin": origin}).status_code == 403
    assert studio.workspace.data is None


def test_a_request_without_origin_needs_the_browsers_word(studio):
    answer = super(StudioClient, studio).post("/open/example", data={"name": "iris"})
    assert answer.status_code == 403
    fetched = {"sec-fetch-site": "same-origin"}
    answer = super(StudioClient, studio).post("/open/example", data={"name": "iris"}, headers=fetched)
    assert answer.status_code == 200


def test_pages_forbid_inline_scripts_and_frames(studio):
    headers = studio.get("/open").headers
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"


def test_a_get_changes_nothing(studio):
    assert {studio.get(path, params={"name": "iris"}).status_code for path in CHANGES} == {405}
    assert studio.workspace.data is None


@pytest.mark.parametrize(
    "path",
    ["/static/../settings.py", "/static/%2e%2e/settings.py", "/static/..%2f..%2ferrors.py", "/static//etc/passwd"],
)
def test_files_beside_the_static_ones_cannot_be_read(studio, path):
    answer = studio.get(path)
    assert answer.status_code in (401, 404, 405)
    assert "import" not in answer.text


def test_an_unknown_page_is_a_page_with_a_way_back(studio):
    answer = studio.get("/nowhere<script>")
    assert answer.status_code == 404
    assert "Back to the studio" in answer.text
    assert "<script>" not in answer.text.replace('<script src="/static', "")
