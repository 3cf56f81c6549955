"""A session ends: after twelve hours, with the password, with the account. And it says why."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from notifications.staff.team import Role
from tests.admin.desk import Desk, text_of
from tests.roles.people import logged_in, somebody
from tests.security.at_the_door import browser, is_let_in

pytestmark = pytest.mark.django_db
INDEX = "admin:index"


@pytest.fixture
def bob(db: None) -> User:
    return somebody(Role.VIEWER, "bob")


@pytest.fixture
def client(bob: User) -> Client:
    client = browser()
    assert is_let_in(client)
    return client


def began(client: Client, seconds: int) -> None:
    """The log-in was so long ago."""
    session = client.session
    session["began_at"] = int(time.time()) - seconds
    session.save()


def ended(client: Client) -> str:
    """What the log-in page says to who clicks."""
    reply: Any = client.get(reverse(INDEX), follow=True)
    assert reply.redirect_chain and reverse("admin:login") in reply.redirect_chain[0][0]
    return text_of(reply)


def test_it_ends_twelve_hours_after_the_log_in_whatever_is_clicked(client: Client) -> None:
    assert client.get(reverse(INDEX)).status_code == 200
    began(client, 12 * 3600 - 60)
    assert client.get(reverse(INDEX)).status_code == 200
    began(client, 12 * 3600 + 1)
    assert "12 hours" in ended(client)
    assert client.get(reverse(INDEX)).status_code == 302


def test_a_page_that_refreshes_itself_ends_then_too(client: Client) -> None:
    began(client, 12 * 3600 + 1)
    reply = client.get(reverse("admin:campaigns_overview"), headers={"HX-Request": "true"})
    assert reverse("admin:login") in reply["HX-Redirect"]


def test_logging_in_again_begins_anew(client: Client) -> None:
    began(client, 12 * 3600 - 60)
    is_let_in(client)
    assert client.session["began_at"] > time.time() - 60


def test_a_session_without_a_begin_begins_when_it_is_seen(client: Client) -> None:
    session = client.session
    del session["began_at"]
    session.save()
    assert client.get(reverse(INDEX)).status_code == 200
    assert client.session["began_at"] > time.time() - 60


def test_a_new_password_ends_the_others_of_that_person_and_keeps_ones_own(
    client: Client, bob: User
) -> None:
    elsewhere, somebody_elses = browser(), logged_in(Role.EDITOR)
    is_let_in(elsewhere)
    elsewhere.get(reverse(INDEX))
    new = "seven bells before noon"
    values = {"old_password": "a long pass phrase", "new_password1": new, "new_password2": new}
    assert client.post(reverse("admin:password_change"), values).status_code == 302
    assert client.get(reverse(INDEX)).status_code == 200
    assert somebody_elses.get(reverse(INDEX)).status_code == 200
    assert "password was changed" in ended(elsewhere)


def test_a_password_that_an_owner_sets_ends_all_of_them(client: Client, bob: User) -> None:
    new = "seven bells before noon"
    twice = {"password1": new, "password2": new, "usable_password": "true"}
    Desk(logged_in(Role.OWNER)).save("auth_user_password_change", bob.pk, **twice)
    assert "password was changed" in ended(client)


def test_who_was_switched_off_is_told_so(client: Client, bob: User) -> None:
    User.objects.update(is_active=False)
    assert "switched off" in ended(client)
    assert "switched off" not in text_of(client.get(reverse("admin:login")))


def test_a_visitor_is_told_nothing(db: None) -> None:
    said = ended(browser())
    assert "logged out" not in said and "12 hours" not in said


def test_who_logs_out_reads_that_they_are_logged_out(client: Client) -> None:
    said = text_of(client.post(reverse("admin:logout"), follow=True))
    assert "You are logged out" in said and "Thanks for spending" not in said
