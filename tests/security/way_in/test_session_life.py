"""A session is a row of ours: new at each log-in, gone at the log-out, dead with its account."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client

from notifications.staff.team import Role
from tests.roles.people import somebody

PASSWORD = "a long pass phrase"


@pytest.fixture
def ada(db: None) -> User:
    return somebody(Role.OWNER, "ada")


def come_in(client: Client) -> str:
    """The session's key."""
    values = {"username": "ada", "password": PASSWORD}
    assert client.post("/admin/login/", values).status_code == 302
    return client.cookies["sessionid"].value


def is_in(key: str) -> bool:
    client = Client()
    client.cookies["sessionid"] = key
    return client.get("/admin/").status_code == 200


def test_each_log_in_has_a_session_of_its_own_that_nobody_guesses(
    ada: User, client: Client
) -> None:
    planted = "a" * 32
    client.cookies["sessionid"] = planted
    keys = {come_in(client), come_in(Client()), come_in(Client())}
    assert len(keys) == 3
    assert planted not in keys
    assert all(len(key) >= 32 for key in keys)
    assert not is_in(planted)


def test_after_a_log_out_its_cookie_opens_nothing(ada: User, client: Client) -> None:
    key = come_in(client)
    assert is_in(key)
    client.post("/admin/logout/")
    assert not is_in(key)
    assert not Session.objects.filter(pk=key).exists()


def test_whoever_is_made_inactive_or_removed_is_out_at_the_next_click(
    ada: User, client: Client
) -> None:
    key = come_in(client)
    User.objects.filter(pk=ada.pk).update(is_active=False)
    assert not is_in(key)
    User.objects.filter(pk=ada.pk).update(is_active=True)
    assert not is_in(key)  # it ended; they log in again
    key = come_in(Client())
    ada.delete()
    assert not is_in(key)


@pytest.mark.parametrize(
    "fine", ["  two spaces  before and after  ", "비밀번호는 길게 씁니다", "x y" * 60]
)
def test_a_password_of_any_script_and_length_is_taken_as_typed(
    ada: User, client: Client, fine: str
) -> None:
    come_in(client)
    values = {"old_password": PASSWORD, "new_password1": fine, "new_password2": fine}
    client.post("/admin/password_change/", values)
    ada.refresh_from_db()
    assert ada.check_password(fine)
    assert not ada.check_password(fine.strip()) or fine == fine.strip()
    assert not ada.check_password(fine[:-1])
