"""The second factor: wrong codes are counted, its secret is sealed, taking it off takes both."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django_otp.plugins.otp_totp.models import TOTPDevice

from notifications.staff import second_factor
from notifications.staff.audit import AuditEntry
from notifications.staff.team import Role
from tests.admin.desk import Desk, text_of
from tests.given.factor import code_of, with_factor
from tests.roles.people import somebody
from tests.security.at_the_door import (
    HERE,
    PASSWORD,
    THERE,
    browser,
    is_let_in,
    knock,
    minutes_pass,
)

pytestmark = pytest.mark.django_db
OWN, ASK, INDEX = "admin:second_factor", "admin:second_factor_ask", "admin:index"


@pytest.fixture
def grace(db: None) -> User:
    return somebody(Role.OWNER, "grace")


@pytest.fixture
def codes(grace: User) -> list[str]:
    return with_factor(grace)


def entered(address: str = HERE) -> Client:
    client = browser(address)
    assert is_let_in(client, "grace")
    return client


def answer(client: Client, code: str) -> Any:
    return client.post(reverse(ASK), {"code": code})


def is_open(client: Client) -> bool:
    return bool(client.get(reverse(INDEX)).status_code == 200)


# --- Guessing ------------------------------------------------------------------------------------


def test_after_five_wrong_codes_none_is_taken_for_a_quarter_of_an_hour(
    grace: User, codes: list[str]
) -> None:
    client = entered()
    answers = [answer(client, "000000").status_code for _ in range(5)]
    assert answers == [200] * 4 + [429]
    reply = answer(client, code_of(grace, later=1))
    assert reply.status_code == 429 and 14 * 60 < int(reply["Retry-After"]) <= 15 * 60
    assert "Too many wrong codes" in text_of(reply) and not is_open(client)
    minutes_pass(15)
    assert answer(client, code_of(grace, later=1)).status_code == 302
    assert is_open(client)


def test_wrong_recovery_codes_are_counted_with_them(grace: User, codes: list[str]) -> None:
    client = entered()
    answers = [answer(client, f"aaaa-bbbb-cccc-ddd{n}").status_code for n in "23456"]
    assert answers == [200] * 4 + [429]
    assert answer(client, codes[0]).status_code == 429


def test_codes_are_counted_for_the_account_too(grace: User, codes: list[str]) -> None:
    for number in range(1, 11):
        last = answer(entered(f"198.51.100.{number}"), "000000").status_code
    assert last == 429
    assert answer(entered("203.0.113.77"), codes[0]).status_code == 429


def test_who_knows_the_password_does_not_lock_out_the_owners_browser(
    grace: User, codes: list[str]
) -> None:
    own = entered()
    answer(own, codes[0])
    own.post(reverse("admin:logout"))
    for number in range(1, 11):
        answer(entered(f"198.51.100.{number}"), "000000")
    assert is_let_in(own, "grace") and answer(own, codes[1]).status_code == 302


def test_the_password_alone_makes_no_browser_known(grace: User, codes: list[str]) -> None:
    client = entered()
    assert "browser" not in client.cookies
    answer(client, codes[0])
    assert client.cookies["browser"].value


def test_wrong_codes_are_in_the_trail(grace: User, codes: list[str]) -> None:
    client = entered()
    for _ in range(3):
        answer(client, "000000")
    rows = AuditEntry.objects.filter(action="refused a wrong code for")
    assert [(row.about, row.address) for row in rows] == [("user grace", HERE)]


def test_a_wrong_code_does_not_make_the_next_one_wait(grace: User, codes: list[str]) -> None:
    client = entered()
    answer(client, "000000")
    assert answer(client, code_of(grace, later=1)).status_code == 302


# --- What it takes to take it off, and to set a password -----------------------------------------


@pytest.mark.parametrize(
    ("password", "with_code"), [("wrong", True), ("", True), (PASSWORD, False)]
)
def test_it_is_turned_off_with_password_and_code_and_not_with_one(
    grace: User, codes: list[str], password: str, with_code: bool
) -> None:
    client = entered()
    answer(client, codes[0])
    values = {"step": "off", "password": password, "code": codes[1] if with_code else "000000"}
    assert client.post(reverse(OWN), values).status_code == 200
    assert second_factor.device_of(grace)
    client.post(reverse(OWN), {"step": "off", "password": PASSWORD, "code": codes[1]})
    assert second_factor.device_of(grace) is None
    assert "turned the second factor off" in AuditEntry.objects.values_list("action", flat=True)


def test_turning_it_off_ends_every_other_session_of_that_person(
    grace: User, codes: list[str]
) -> None:
    somebody(Role.OWNER, "eve")
    somebody_elses = browser()
    assert is_let_in(somebody_elses, "eve")
    client, elsewhere, without_code = entered(), entered(THERE), entered(THERE)
    answer(client, codes[0])
    answer(elsewhere, codes[1])
    assert is_open(client) and is_open(elsewhere) and is_open(somebody_elses)
    client.post(reverse(OWN), {"step": "off", "password": PASSWORD, "code": codes[2]})
    assert second_factor.device_of(grace) is None
    assert is_open(client) and is_open(somebody_elses)
    assert not is_open(elsewhere) and not is_open(without_code)
    assert is_let_in(elsewhere, "grace"), "with the password"


def test_an_owner_takes_off_their_own_no_other_way(grace: User, codes: list[str]) -> None:
    client = entered()
    answer(client, codes[0])
    reply: Any = Desk(client).confirm("auth_user_forget_factor", grace.pk)
    assert second_factor.device_of(grace), reply.status_code
    assert reverse(OWN) in (reply.get("Location") or reply.get("HX-Redirect") or "")


def change(client: Client, **more: str) -> Any:
    new = "seven bells before noon"
    values = {"old_password": PASSWORD, "new_password1": new, "new_password2": new, **more}
    return client.post(reverse("admin:password_change"), values)


def test_ones_own_password_takes_a_code_where_there_is_a_second_factor(
    grace: User, codes: list[str]
) -> None:
    client = entered()
    answer(client, codes[0])
    assert 'name="code"' in client.get(reverse("admin:password_change")).content.decode()
    assert change(client).status_code == change(client, code="000000").status_code == 200
    short = {"new_password1": "short", "new_password2": "short"}
    assert change(client, code=codes[1], **short).status_code == 200
    assert change(client, code=codes[1]).status_code == 302, "a form that fails uses no code up"
    assert is_let_in(browser(THERE), "grace", "seven bells before noon")
    assert AuditEntry.objects.filter(action="set a password", actor="user:grace").count() == 1


def test_an_owner_sets_their_own_password_no_other_way(grace: User, codes: list[str]) -> None:
    client = entered()
    answer(client, codes[0])
    new = "seven bells before noon"
    values = {"usable_password": "true", "password1": new, "password2": new}
    for reply in (
        client.get(reverse("admin:auth_user_password_change", args=[grace.pk])),
        client.post(reverse("admin:auth_user_password_change", args=[grace.pk]), values),
    ):
        assert reply.status_code == 302 and reply["Location"] == reverse("admin:password_change")
    assert is_let_in(browser(THERE), "grace", PASSWORD)


# --- The secret ----------------------------------------------------------------------------------


def test_the_table_does_not_hold_the_secret(grace: User, codes: list[str]) -> None:
    device = TOTPDevice.objects.get(user=grace)
    assert second_factor.secret_of(device).hex() not in device.key
    assert len(device.key) == 72


def test_a_secret_is_sealed_for_one_person(grace: User, codes: list[str]) -> None:
    """Whoever can write to the table alone cannot make their own app good for another."""
    eve = somebody(Role.VIEWER, "eve")
    TOTPDevice.objects.create(
        user=eve, confirmed=True, name="app", key=TOTPDevice.objects.get(user=grace).key
    )
    client = browser()
    knock(client, "eve", PASSWORD)
    reply = answer(client, "123456")
    assert reply.status_code == 200 and "CREDENTIALS_KEY" in text_of(reply)


def test_a_key_that_was_replaced_still_opens_it_and_a_lost_one_says_so(
    grace: User, codes: list[str], settings: LazySettings
) -> None:
    old = settings.CREDENTIALS_KEY
    settings.CREDENTIALS_KEY = f"a new one,{old}"
    assert answer(entered(), code_of(grace, later=1)).status_code == 302
    settings.CREDENTIALS_KEY = "a new one"
    assert second_factor.secret_of(TOTPDevice.objects.get(user=grace)), "sealed anew by its use"
    settings.CREDENTIALS_KEY = "yet another"
    client = entered()
    reply = answer(client, "123456")
    assert reply.status_code == 200 and "CREDENTIALS_KEY" in text_of(reply)
    assert answer(client, codes[0]).status_code == 302, "recovery codes are sealed with nothing"
