"""Setting up a second factor: in two clicks at once, left unfinished, with a key that was lost."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.urls import reverse
from django_otp.plugins.otp_totp.models import TOTPDevice

from notifications.staff import password_slots, second_factor
from notifications.staff.team import Role
from tests.admin.desk import Desk
from tests.given.factor import code_of
from tests.roles.people import somebody
from tests.security.at_the_door import PASSWORD, THERE, browser, is_let_in

pytestmark = pytest.mark.django_db
OWN = "admin:second_factor"
AT_ONCE = 4


@pytest.fixture
def grace(db: None) -> User:
    return somebody(Role.OWNER, "grace")


def entered() -> Client:
    client = browser()
    assert is_let_in(client, "grace")
    return client


def begin(client: Client) -> str:
    """The secret that the page shows, in words."""
    reply: Any = client.post(reverse(OWN), {"step": "begin", "password": PASSWORD})
    assert reply.status_code == 200
    return str(reply.context["secret"])


@pytest.mark.django_db(transaction=True)
def test_clicks_at_once_begin_one_set_up(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(password_slots, "ROOM_SECONDS", 30)
    somebody(Role.OWNER, "grace")
    client, together = entered(), Barrier(AT_ONCE)

    def click(_: int) -> str:
        other = browser()
        other.cookies["sessionid"] = client.cookies["sessionid"].value
        together.wait()
        try:
            return begin(other)
        finally:
            connection.close()

    for _ in range(3):
        TOTPDevice.objects.all().delete()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            shown = set(pool.map(click, range(AT_ONCE)))
        assert len(shown) == TOTPDevice.objects.count() == 1


def two_unfinished(user: User) -> None:
    """As two clicks at once left them."""
    second_factor.begin(user)
    TOTPDevice.objects.create(user=user, confirmed=False, name="app", key="0123456789" * 4)


def test_of_several_set_ups_that_were_left_one_is_gone_on_with(grace: User) -> None:
    client = entered()
    two_unfinished(grace)
    shown = begin(client)
    assert shown == begin(client) and TOTPDevice.objects.count() == 1
    client.post(reverse(OWN), {"step": "confirm", "code": code_of(grace)})
    assert second_factor.device_of(grace)


def test_a_set_up_that_no_key_opens_is_begun_anew(grace: User, settings: LazySettings) -> None:
    client = entered()
    shown = begin(client)
    settings.CREDENTIALS_KEY = "another"
    assert client.post(reverse(OWN), {"step": "confirm", "code": "123456"}).status_code == 200
    assert begin(client) != shown and TOTPDevice.objects.count() == 1
    client.post(reverse(OWN), {"step": "confirm", "code": code_of(grace)})
    assert second_factor.device_of(grace)


def test_an_owner_may_forget_a_set_up_that_was_not_finished(grace: User) -> None:
    somebody(Role.OWNER, "eve")
    client = browser(THERE)
    assert is_let_in(client, "eve")
    page, forget = reverse("admin:auth_user_change", args=[grace.pk]), "Reset the second factor"
    assert forget not in client.get(page).content.decode()
    two_unfinished(grace)
    assert forget in client.get(page).content.decode()
    Desk(client).confirm("auth_user_forget_factor", grace.pk)
    assert not TOTPDevice.objects.exists()
