"""What an answer tells a browser to keep, to load and where to go on to."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from django.urls import reverse

from notifications.admin.ui import safe_redirect
from notifications.people.project import Project
from notifications.staff.team import Role
from tests.api.caller import Caller
from tests.api.conftest import alice as alice
from tests.api.conftest import ours as ours
from tests.given.builders import make_people, make_run
from tests.roles.people import logged_in

pytestmark = pytest.mark.django_db
FOREIGN = (
    "https://evil.example/",
    "//evil.example/",
    "///evil.example/",
    "/\\evil.example/",
    "\\\\evil.example/",
    "/\t/evil.example/",
    "/admin/\r\nSet-Cookie: a=b",
    "javascript:alert(1)",
    "http:evil.example",
    "data:text/html,x",
    " https://evil.example/",
    "\x00/admin/",
    "http://testserver@evil.example/",
    "/" + "a" * 5_000,
)
OURS = ("/admin/", "/admin/campaigns/run/?state=paused&q=%EA%B0%80#top", "/admin/사람/")
CURRENT = (  # headers a script or a proxy can write
    "http://testserver//evil.example/",
    "http://testserver/\\evil.example/",
    "http://testserver/%5Cevil.example/",
    "https://evil.example/admin/",
    "http://[",
    "javascript:alert(1)",
    "http://testserver\\@evil.example/",
)


@pytest.mark.parametrize("wanted", FOREIGN)
def test_nobody_is_sent_on_to_another_site(wanted: str) -> None:
    assert safe_redirect.page(wanted) == "/admin/"
    client = logged_in(Role.VIEWER)
    reply = client.post(reverse("admin:project_switch"), {"next": wanted})
    assert reply["Location"] == "/admin/"


@pytest.mark.parametrize("wanted", OURS)
def test_a_page_of_ours_is_gone_on_to(wanted: str) -> None:
    assert safe_redirect.page(wanted) == wanted


@pytest.mark.parametrize("current", CURRENT)
@pytest.mark.parametrize("encoded", [False, True])
def test_the_page_a_part_asks_from_leads_nowhere_else(
    current: str, encoded: bool, project: Project
) -> None:
    headers = {"HX-Request": "true", "HX-Current-URL": current}
    if encoded:
        headers["HX-Current-URL-URI-AutoEncoded"] = "true"
    reply: Any = Client().get("/admin/campaigns/run/", headers=headers)
    [onto] = parse_qs(urlsplit(reply["HX-Redirect"]).query)["next"]
    safely = urlsplit(onto)
    assert safely.scheme == safely.netloc == "" and onto.startswith("/")
    assert not onto.startswith(("//", "/\\")) and "\\" not in onto


def test_a_log_in_with_a_foreign_next_ends_on_a_page_of_ours(db: None) -> None:
    logged_in(Role.OWNER)  # makes the person
    for wanted in FOREIGN[:8]:
        reply = Client().post(
            f"{reverse('admin:login')}",
            {"username": "owner-person", "password": "a long pass phrase", "next": wanted},
        )
        assert reply.status_code == 302 and reply["Location"].startswith("/admin/"), wanted


def test_no_answer_of_the_api_is_kept_and_an_etag_still_guards_a_change(
    alice: Caller, ours: Project
) -> None:
    tag = alice.put("contacts/ada", {"attributes": {"n": 1}})["ETag"]
    reply = alice.get("contacts/ada")
    assert (reply["Cache-Control"], reply["ETag"]) == ("no-store", tag)
    assert alice.get("templates/999999")["Cache-Control"] == "no-store"
    assert Client().get("/api/v1/runs")["Cache-Control"] == "no-store"
    assert alice.patch("contacts/ada", {"locale": "ko"}, If_Match=tag).status_code == 200
    assert alice.patch("contacts/ada", {"locale": "en"}, If_Match=tag).status_code == 412


def test_no_file_of_recipients_is_kept(alice: Caller, ours: Project) -> None:
    make_people(ours, 1)
    run = make_run(ours)
    assert alice.get(f"runs/{run.pk}/deliveries.csv")["Cache-Control"] == "no-store"
    reply = logged_in(Role.OWNER).get(reverse("admin:run_csv", args=[run.pk]))
    assert "no-store" in reply["Cache-Control"]


@pytest.mark.parametrize(
    "path", ["/admin/", "/admin/login/", "/nowhere", "/api/v1/runs", "/healthz"]
)
def test_every_answer_keeps_to_itself(path: str) -> None:
    reply = logged_in(Role.OWNER).get(path)
    policy = reply["Content-Security-Policy"]
    assert "unsafe-eval" not in policy and "img-src 'self' data:;" in policy
    assert "https:" not in policy and "*" not in policy
    assert reply["Cross-Origin-Opener-Policy"] == "same-origin"
    assert reply["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "camera=()" in reply["Permissions-Policy"]
