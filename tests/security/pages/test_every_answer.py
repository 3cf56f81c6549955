"""Every kind of answer carries the headers that keep a browser from being used against its owner.

That each page of each role does, `tests/roles/test_matrix.py` asks.
"""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client

from notifications.people.project import Project
from notifications.staff.api_key import ApiKey
from notifications.staff.team import Role
from tests.given.builders import make_project
from tests.roles.every_page import HEADERS
from tests.roles.people import logged_in

pytestmark = pytest.mark.django_db
TOLD_BY_NOBODY = ("Server", "X-Powered-By", "X-Generator", "X-AspNet-Version")


@pytest.fixture
def project(db: None) -> Project:
    return make_project()


@pytest.fixture
def key(project: Project) -> dict[str, str]:
    return {"HTTP_AUTHORIZATION": f"Bearer {ApiKey.issue(project, 'crm')[1]}"}


def ask(client: Client, method: str, path: str, **more: Any) -> Any:
    return client.generic(method, path, **more)


ANSWERS = {
    "the bare address": ("GET", "/", {}, 302),
    "the log-in": ("GET", "/admin/login/", {}, 200),
    "a page that wants a log-in": ("GET", "/admin/campaigns/run/", {}, 302),
    "a forged form": ("POST", "/admin/login/", {}, 403),
    "a page that is not there": ("GET", "/nowhere", {}, 404),
    "a probe": ("GET", "/healthz", {}, 200),
    "readiness": ("GET", "/readyz", {}, 503),
    "the numbers": ("GET", "/metrics", {"REMOTE_ADDR": "10.0.0.9"}, 403),
    "the API's reference": ("GET", "/api/docs/", {}, 200),
    "the API's schema": ("GET", "/api/schema/", {}, 200),
    "the API without a key": ("GET", "/api/v1/runs", {}, 401),
    "the API's own 404": ("GET", "/api/v1/nowhere", {}, 404),
    "another host's name": ("GET", "/admin/", {"HTTP_HOST": "evil.example"}, 400),
    "a picture": ("GET", "/static/carillon.svg", {}, 200),
    "a style sheet": ("HEAD", "/static/carillon.css", {}, 200),
    "a static file that is not there": ("GET", "/static/nowhere.js", {}, 404),
    "another project's file": ("GET", "/static/..%2f..%2fetc/passwd", {}, 404),
    "a verb nobody knows": ("BREW", "/admin/login/", {}, 403),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_to_a_stranger_has_its_security_headers(
    name: str, settings: LazySettings
) -> None:
    settings.WHITENOISE_AUTOREFRESH = True
    method, path, more, status = ANSWERS[name]
    stranger = Client(enforce_csrf_checks=True, raise_request_exception=False)
    answer = ask(stranger, method, path, **more)
    assert answer.status_code == status
    _assert_guarded(answer)


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/api/v1/runs", "", 200),
        ("GET", "/api/v1/runs?page=1", "", 400),
        ("GET", "/api/v1/runs/999999999", "", 404),
        ("PUT", "/api/v1/runs", "", 405),
        ("OPTIONS", "/api/v1/runs", "", 405),
        ("POST", "/api/v1/campaigns", "{", 400),
        ("POST", "/api/v1/campaigns", "{}", 400),
    ],
)
def test_an_answer_to_a_program_has_them_and_is_json(
    key: dict[str, str], method: str, path: str, body: str, status: int
) -> None:
    answer = ask(Client(), method, path, data=body, content_type="application/json", **key)
    assert answer.status_code == status
    _assert_guarded(answer)
    assert answer["Content-Type"].split(";")[0].endswith("json")
    assert "Access-Control-Allow-Origin" not in answer.headers


@pytest.mark.parametrize(
    ("path", "status"), [("/admin/", 200), ("/admin/nowhere/", 404), ("/admin/auth/user/", 403)]
)
def test_an_answer_to_a_person_has_them_and_its_cookies_are_closed(
    project: Project, path: str, status: int
) -> None:
    answer = logged_in(Role.VIEWER).get(path)
    assert answer.status_code == status
    _assert_guarded(answer)
    for cookie in answer.cookies.values():
        assert cookie["samesite"] in ("Lax", "Strict"), cookie.OutputString()


def test_our_own_failure_has_them_and_shows_nothing_of_it(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("innermost words")

    client = logged_in(Role.OWNER)
    monkeypatch.setattr("config.pages.operations._health", fail)
    answer = client.get("/admin/operations/")
    assert answer.status_code == 500
    _assert_guarded(answer)
    assert "innermost" not in answer.content.decode() + repr(answer.headers)


def test_no_other_site_reads_our_files_with_its_visitors_browser(settings: LazySettings) -> None:
    settings.WHITENOISE_AUTOREFRESH = True
    answer = Client().get("/static/carillon.svg")
    assert "Access-Control-Allow-Origin" not in answer.headers


def _assert_guarded(answer: Any) -> None:
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
    assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert not [name for name in TOLD_BY_NOBODY if name in answer.headers]
    kind = answer.headers.get("Content-Type", "")
    assert not kind.startswith("text/") or "charset=utf-8" in kind.replace('"', ""), kind
