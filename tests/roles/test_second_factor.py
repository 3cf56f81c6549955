"""A code beside the password: set up by oneself, asked for at every door, replaceable when lost."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django_otp.plugins.otp_static.models import StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from notifications.staff import second_factor
from notifications.staff.audit import AuditEntry
from notifications.staff.team import Role
from tests.admin.desk import Desk, text_of
from tests.given.factor import code_of, with_factor
from tests.roles.people import logged_in, somebody

pytestmark = pytest.mark.django_db
PASSWORD = "a long pass phrase"
OWN, ASK, INDEX = "admin:second_factor", "admin:second_factor_ask", "admin:index"


@pytest.fixture
def grace(db: None) -> User:
    return somebody(Role.OWNER, "grace")


@pytest.fixture
def codes(grace: User) -> list[str]:
    """Grace has a second factor; her recovery codes."""
    return with_factor(grace)


def entered(name: str) -> Client:
    client = Client(raise_request_exception=False)
    client.post(reverse("admin:login"), {"username": name, "password": PASSWORD})
    return client


def answered(client: Client, code: str, **values: str) -> Any:
    return client.post(reverse(ASK), {"code": code, **values})


def open_to(client: Client) -> bool:
    return client.get(reverse(INDEX)).status_code == 200


def test_without_one_the_password_is_enough(admin_user: User) -> None:
    client = Client()
    client.post(reverse("admin:login"), {"username": "admin", "password": "password"})
    assert open_to(client)


def test_it_is_set_up_with_the_apps_code_and_shows_recovery_codes_once(grace: User) -> None:
    client = entered("grace")
    page = client.post(reverse(OWN), {"step": "begin", "password": PASSWORD}).content.decode()
    assert "<svg" in page and "<script" not in page[page.index("<svg") : page.index("</svg>")]
    assert open_to(client), "nothing changes before it is confirmed"

    shown = client.post(reverse(OWN), {"step": "confirm", "code": code_of(grace)})

    found = re.findall(r"\b[a-z2-7]{4}(?:-[a-z2-7]{4}){3}\b", shown.content.decode())
    assert len(found) == 10
    assert "no-store" in shown["Cache-Control"]
    assert found[0] not in client.get(reverse(OWN)).content.decode()
    assert open_to(client), "whoever set it up has shown it"
    assert not open_to(entered("grace")), "the next log-in is asked"
    assert AuditEntry.objects.filter(action="set up a second factor", actor="user:grace").exists()


def test_a_wrong_code_does_not_turn_it_on(grace: User) -> None:
    client = entered("grace")
    client.post(reverse(OWN), {"step": "begin", "password": PASSWORD})
    said = text_of(client.post(reverse(OWN), {"step": "confirm", "code": "000000"}))
    assert "The code is not right" in said
    assert open_to(entered("grace"))


@pytest.mark.parametrize("password", ["", "wrong"])
def test_an_open_page_alone_sets_none_up(grace: User, password: str) -> None:
    client = entered("grace")
    page = client.post(reverse(OWN), {"step": "begin", "password": password})
    assert "The password is not right" in text_of(page)
    assert "<svg" not in page.content.decode() and not TOTPDevice.objects.exists()


def test_after_a_wrong_code_the_secret_is_not_shown_again(grace: User) -> None:
    """Or an open page would show it."""
    client = entered("grace")
    client.post(reverse(OWN), {"step": "begin", "password": PASSWORD})
    page = client.post(reverse(OWN), {"step": "confirm", "code": "000000"}).content.decode()
    assert "<svg" not in page and 'name="code"' in page
    shown = client.post(reverse(OWN), {"step": "confirm", "code": code_of(grace)})
    assert "recovery codes" in text_of(shown)


def test_codes_of_a_set_up_are_not_guessed(grace: User) -> None:
    client = entered("grace")
    second_factor.begin(grace)
    confirm = {"step": "confirm", "code": "000000"}
    answers = [client.post(reverse(OWN), confirm).status_code for _ in range(6)]
    assert answers == [200] * 4 + [429] * 2
    right = {**confirm, "code": code_of(grace)}
    assert client.post(reverse(OWN), right).status_code == 429
    assert second_factor.device_of(grace) is None


def test_a_code_without_a_set_up_begins_none(grace: User) -> None:
    page = entered("grace").post(reverse(OWN), {"step": "confirm", "code": "000000"})
    assert "Set it up" in text_of(page) and not TOTPDevice.objects.exists()


def test_one_that_stands_is_not_replaced_without_its_code(grace: User, codes: list[str]) -> None:
    client, stands = entered("grace"), second_factor.device_of(grace)
    answered(client, codes[0])

    for code in ("000000", ""):
        for step in ("confirm", "begin"):
            page = client.post(reverse(OWN), {"step": step, "code": code})
            assert "<svg" not in page.content.decode(), "a new secret is shown to nobody"

    assert list(TOTPDevice.objects.filter(user=grace)) == [stands]


def test_with_the_password_alone_no_door_opens(grace: User, codes: list[str]) -> None:
    client = entered("grace")
    for page in ("index", "campaigns_campaign_changelist", "second_factor", "auth_user_add"):
        for reply in (client.get(reverse(f"admin:{page}")), client.post(reverse(f"admin:{page}"))):
            assert reply.status_code == 302, page
            assert reply["Location"].startswith(reverse(ASK)), page
    live = client.get(reverse(INDEX), headers={"HX-Request": "true"})
    assert live["HX-Redirect"].startswith(reverse(ASK))


def test_the_apps_code_opens_and_leads_to_where_one_was_going(
    grace: User, codes: list[str]
) -> None:
    client, wanted = entered("grace"), reverse("admin:campaigns_run_changelist")
    asked = client.get(client.get(wanted)["Location"])
    assert f'value="{wanted}"' in asked.content.decode()
    reply = answered(client, code_of(grace, later=1), next=wanted)
    assert reply["Location"] == wanted
    assert open_to(client)


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example/", "javascript:x"])
def test_a_code_leads_to_no_other_site(grace: User, codes: list[str], elsewhere: str) -> None:
    reply = answered(entered("grace"), codes[0], next=elsewhere)
    assert reply["Location"] == reverse(INDEX)


def test_a_code_works_once(grace: User, codes: list[str]) -> None:
    code = code_of(grace, later=1)
    answered(entered("grace"), code)
    other = entered("grace")
    answered(other, code)
    assert not open_to(other)


def test_a_recovery_code_works_once_and_says_how_many_are_left(
    grace: User, codes: list[str]
) -> None:
    client = entered("grace")
    answered(client, codes[3].upper())
    assert "9 recovery codes are left" in text_of(client.get(reverse(INDEX)))
    other = entered("grace")
    answered(other, codes[3])
    assert not open_to(other)
    assert AuditEntry.objects.filter(action="used a recovery code").exists()


def test_the_database_holds_no_recovery_code(codes: list[str]) -> None:
    kept = set(StaticToken.objects.values_list("token", flat=True))
    assert len(kept) == 10
    assert not kept & {code.replace("-", "")[:16] for code in codes}


def test_somebody_elses_code_opens_nothing(grace: User, codes: list[str]) -> None:
    somebody(Role.OWNER, "eve")
    second_factor.begin(User.objects.get(username="eve"))
    client = entered("eve")
    assert open_to(client)
    other = entered("grace")
    answered(other, code_of(User.objects.get(username="eve")))
    assert not open_to(other)


def test_it_is_turned_off_with_a_code_and_not_without(grace: User, codes: list[str]) -> None:
    client = entered("grace")
    answered(client, codes[0])
    client.post(reverse(OWN), {"step": "off", "password": PASSWORD, "code": "nonsense"})
    assert second_factor.device_of(grace)
    client.post(reverse(OWN), {"step": "off", "password": PASSWORD, "code": codes[1]})
    assert second_factor.device_of(grace) is None
    assert open_to(entered("grace"))


def test_new_recovery_codes_make_the_old_ones_useless(grace: User, codes: list[str]) -> None:
    client = entered("grace")
    answered(client, codes[0])
    client.post(reverse(OWN), {"step": "codes", "code": codes[1]})
    other = entered("grace")
    answered(other, codes[2])
    assert not open_to(other)


def test_an_owner_makes_a_lost_phone_forgotten(grace: User, codes: list[str]) -> None:
    Desk(logged_in(Role.OWNER)).confirm("auth_user_forget_factor", grace.pk)
    assert open_to(entered("grace"))
    assert AuditEntry.objects.filter(action="reset the second factor").exists()


def test_an_operator_cannot(grace: User, codes: list[str]) -> None:
    reply: Any = Desk(logged_in(Role.OPERATOR)).confirm("auth_user_forget_factor", grace.pk)
    assert reply.status_code == 403
    assert second_factor.device_of(grace)
