"""Sessions end, guessing is locked out, and both say so in our words."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse

from config.middleware.idle import SEEN
from notifications.staff.audit import AuditEntry
from notifications.staff.team import Role
from tests.admin.desk import text_of
from tests.roles.people import logged_in, somebody

pytestmark = pytest.mark.django_db
INDEX, LOGIN = "admin:index", "admin:login"
HTMX = {"HX-Request": "true"}


def last_click(client: Client, seconds: int) -> None:
    """The last click was so long ago."""
    session = client.session
    session[SEEN] = int(time.time()) - seconds
    session.save()


def test_nobody_at_the_desk_is_logged_out(settings: LazySettings) -> None:
    client = logged_in(Role.VIEWER)
    last_click(client, settings.SESSION_IDLE_SECONDS + 5)
    reply: Any = client.get(reverse(INDEX), follow=True)
    assert reply.redirect_chain[0][0].startswith(reverse(LOGIN))
    assert "nothing was clicked for long" in text_of(reply)
    assert client.get(reverse(INDEX)).status_code == 302


def test_a_click_keeps_one_logged_in(settings: LazySettings) -> None:
    client = logged_in(Role.VIEWER)
    last_click(client, settings.SESSION_IDLE_SECONDS - 60)
    assert client.get(reverse(INDEX)).status_code == 200
    assert client.session[SEEN] > time.time() - 60


def test_a_page_that_refreshes_itself_is_no_click(settings: LazySettings) -> None:
    client = logged_in(Role.VIEWER)
    last_click(client, settings.SESSION_IDLE_SECONDS - 60)
    assert client.get(reverse("admin:campaigns_overview"), headers=HTMX).status_code == 200
    assert client.session[SEEN] < time.time() - 3600


def test_a_live_page_goes_to_the_log_in_as_a_whole() -> None:
    page = "http://testserver" + reverse("admin:campaigns_run_changelist")
    headers = {**HTMX, "HX-Current-URL": page}
    reply = Client().get(reverse("admin:campaigns_overview"), headers=headers)
    assert reply["HX-Redirect"] == f"{reverse(LOGIN)}?next=/admin/campaigns/run/"


def test_after_ten_wrong_passwords_the_page_says_for_how_long(db: None) -> None:
    somebody(Role.VIEWER, "bob")
    client = Client()
    for _ in range(9):
        client.post(reverse(LOGIN), {"username": "bob", "password": "wrong"})
    reply: Any = client.post(reverse(LOGIN), {"username": "bob", "password": "wrong"})
    assert reply.status_code == 429
    assert "none is taken for 15 minutes" in text_of(reply)
    right = client.post(reverse(LOGIN), {"username": "bob", "password": "a long pass phrase"})
    assert right.status_code == 429
    entry = AuditEntry.objects.filter(action="locked out").latest("pk")
    assert (entry.about, entry.address) == ("user bob", "127.0.0.1")


def test_the_lock_holds_for_one_address_and_not_for_the_whole_team(db: None) -> None:
    somebody(Role.VIEWER, "bob")
    for _ in range(10):
        Client(REMOTE_ADDR="203.0.113.9").post(
            reverse(LOGIN), {"username": "bob", "password": "wrong"}
        )
    reply = Client().post(reverse(LOGIN), {"username": "bob", "password": "a long pass phrase"})
    assert reply.status_code == 302


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/admin/",
        "/admin/login/",
        "/healthz",
        "/readyz",
        "/api/docs/",
        "/api/schema/",
        "/api/v1/runs",
        "/nowhere",
        "/admin/nowhere/",
        "/admin/campaigns/run/999999/live/",
        "/admin/me/code/",
    ],
)
def test_every_page_has_its_security_headers(path: str, db: None) -> None:
    reply = logged_in(Role.OWNER).get(path)
    assert "script-src 'self';" in reply["Content-Security-Policy"]
    assert reply["X-Content-Type-Options"] == "nosniff"
    assert reply["X-Frame-Options"] == "DENY"
    assert reply["Referrer-Policy"] == "same-origin"


def test_a_refusal_for_want_of_a_csrf_token_has_them_too(db: None) -> None:
    reply = Client(enforce_csrf_checks=True).post(reverse(LOGIN), {"username": "bob"})
    assert reply.status_code == 403
    assert "script-src 'self';" in reply["Content-Security-Policy"]
    assert reply["X-Frame-Options"] == "DENY" and reply["X-Content-Type-Options"] == "nosniff"


def test_a_wrong_password_is_said_once_and_plainly(client: Client, db: None) -> None:
    reply: Any = client.post(reverse(LOGIN), {"username": "nobody", "password": "x"})
    said = text_of(reply)
    assert "Username or password is wrong." in said
    assert "staff" not in said and "error below" not in said
