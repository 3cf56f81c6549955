"""Whoever guesses is stopped: by address, by account, and by both. The person themselves is not."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from notifications.staff import login_throttle
from notifications.staff.audit import AuditEntry
from notifications.staff.login_throttle import Guesses
from notifications.staff.team import Role
from tests.admin.desk import text_of
from tests.roles.people import somebody
from tests.security.at_the_door import (
    HERE,
    PASSWORD,
    THERE,
    browser,
    guess,
    is_let_in,
    knock,
    minutes_pass,
)
from tests.security.way_in.hashing import CountingHasher

pytestmark = pytest.mark.django_db


@pytest.fixture
def bob(db: None) -> User:
    return somebody(Role.VIEWER, "bob")


# --- Who is stopped ------------------------------------------------------------------------------


def test_an_address_that_tries_one_name_after_another_is_stopped(bob: User) -> None:
    answers = [knock(browser(), f"name{number}").status_code for number in range(25)]
    assert answers[:19] == [200] * 19 and set(answers[19:]) == {429}
    assert not is_let_in(browser()), "not even with the right password"
    assert is_let_in(browser(THERE)), "another address is free to try"


def test_all_addresses_of_one_ipv6_network_count_as_one(bob: User) -> None:
    answers = [guess(1, address=f"2001:db8:1:2::{number:x}")[0] for number in range(1, 12)]
    assert answers == [200] * 9 + [429] * 2
    assert guess(1, address="2001:db8:1:3::1") == [200], "the next network is another house"


def test_an_ipv4_address_counts_the_same_however_it_is_written(bob: User) -> None:
    assert guess(9) == [200] * 9
    assert guess(1, address=f"::ffff:{HERE}") == [429]
    assert guess(1, address="::ffff:cb00:7109") == [429]


def test_guesses_at_one_account_from_everywhere_are_stopped(bob: User) -> None:
    answers = [guess(1, address=f"203.0.113.{number}")[0] for number in range(1, 61)]
    assert answers[:49] == [200] * 49 and set(answers[49:]) == {429}
    assert somebody(Role.VIEWER, "eve") and is_let_in(browser(THERE), "eve")


def test_after_some_minutes_an_account_takes_passwords_again(bob: User) -> None:
    for number in range(1, 61):
        guess(1, address=f"203.0.113.{number}")
    reply = knock(browser(THERE), password=PASSWORD)
    assert reply.status_code == 429 and 0 < int(reply["Retry-After"]) <= 300
    minutes_pass(5)
    assert is_let_in(browser(THERE))


def test_knocking_at_a_locked_door_does_not_keep_it_locked(bob: User) -> None:
    guess(10)
    minutes_pass(14)
    assert set(guess(15)) == {429}
    minutes_pass(1)
    assert is_let_in(browser())


def test_one_address_cannot_use_up_the_tries_of_an_account(bob: User) -> None:
    guess(60)
    assert is_let_in(browser(THERE))


def test_the_right_password_is_not_counted(bob: User) -> None:
    assert all(is_let_in(browser()) for _ in range(30))


def test_an_account_that_is_not_there_is_locked_like_one_that_is(bob: User) -> None:
    assert guess(11, "bob") == guess(11, "nobody", THERE) == [200] * 9 + [429] * 2


def test_an_unknown_name_costs_as_many_hashes_as_a_known_one(
    bob: User, settings: LazySettings
) -> None:
    settings.PASSWORD_HASHERS = [f"{__name__}.CountingHasher"]
    bob.set_password(PASSWORD)
    bob.save()
    spent = []
    for name in ("bob", "nobody", "nobody-else"):
        CountingHasher.runs = 0
        knock(browser(), name)
        spent.append(CountingHasher.runs)
    assert spent == [1, 1, 1]


# --- Whom a stranger cannot lock out -------------------------------------------------------------


def test_a_browser_that_was_in_before_is_not_locked_out_by_strangers(bob: User) -> None:
    own = browser()
    assert is_let_in(own)
    own.post(reverse("admin:logout"))
    guess(15)
    guess(15, "eve")
    for number in range(1, 61):
        guess(1, address=f"198.51.100.{number}")
    assert not is_let_in(browser()), "the same address, another browser"
    assert is_let_in(own)


def test_a_known_browser_has_tries_of_its_own_and_no_more(bob: User) -> None:
    own = browser()
    is_let_in(own)
    own.post(reverse("admin:logout"))
    answers = [knock(own).status_code for _ in range(11)]
    assert answers == [200] * 9 + [429] * 2
    assert is_let_in(browser()), "it used up nobody else's"


def test_a_browser_is_known_to_the_account_that_logged_in_there_alone(bob: User) -> None:
    somebody(Role.OWNER, "grace")
    own = browser()
    is_let_in(own)
    own.post(reverse("admin:logout"))
    guess(10, "grace")
    assert not is_let_in(own, "grace")


def test_the_mark_of_a_known_browser_is_signed_and_out_of_reach_of_scripts(bob: User) -> None:
    own = browser()
    is_let_in(own)
    mark = own.cookies["browser"]
    assert mark["httponly"] and mark["samesite"] == "Lax" and int(mark["max-age"]) > 90 * 86400
    assert "bob" not in mark.value
    guess(10)
    forged = browser()
    forged.cookies["browser"] = mark.value[:-3] + ("AAA" if mark.value[-3:] != "AAA" else "BBB")
    assert not is_let_in(forged)


def test_the_mark_is_secure_where_the_session_is(bob: User, settings: LazySettings) -> None:
    settings.SESSION_COOKIE_SECURE = True
    own = browser()
    is_let_in(own)
    assert own.cookies["browser"]["secure"]


def test_an_operator_ends_every_lock_on_the_server(bob: User) -> None:
    guess(10)
    call_command("unlock")
    assert is_let_in(browser())


# --- What is said of it --------------------------------------------------------------------------


def test_the_page_says_for_how_long_in_words_and_in_a_header(bob: User) -> None:
    guess(10)
    reply = knock(browser(), password=PASSWORD)
    assert reply.status_code == 429
    assert 14 * 60 < int(reply["Retry-After"]) <= 15 * 60
    assert "no-store" in reply["Cache-Control"]
    said = text_of(reply)
    assert "15 minutes" in said and "Too many wrong passwords" in said
    assert "axes" not in said


def test_the_page_speaks_the_readers_language(bob: User) -> None:
    guess(10)
    client = browser()
    reply = client.post(
        reverse("admin:login"),
        {"username": "bob", "password": "x"},
        headers={"Accept-Language": "ko"},
    )
    assert reply.status_code == 429 and 'lang="ko"' in reply.content.decode()


def test_the_log_has_the_address_and_never_what_was_typed_for_a_name(
    bob: User, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    guess(10, "hunter2-my-secret")
    guess(10, "bob", THERE)
    told = caplog.text
    assert HERE in told and THERE in told and "bob" in told
    assert "hunter2" not in told and PASSWORD not in told


def test_nothing_kept_of_an_unknown_name_can_be_read(bob: User) -> None:
    guess(10, "hunter2-my-secret")
    kept = [*Guesses.objects.values(), *AuditEntry.objects.values()]
    assert kept and "hunter2" not in str(kept)


# --- The audit trail -----------------------------------------------------------------------------


def trail(action: str) -> list[tuple[Any, ...]]:
    rows = AuditEntry.objects.filter(action=action).order_by("pk")
    return [(row.actor, row.about, row.address) for row in rows]


def test_wrong_passwords_of_an_account_are_in_the_trail_once_in_a_quarter_of_an_hour(
    bob: User,
) -> None:
    guess(5)
    guess(2, address=THERE)
    wrong = "refused a wrong password for"
    assert trail(wrong) == [("carillon", "user bob", HERE), ("carillon", "user bob", THERE)]
    minutes_pass(16)
    guess(1)
    assert len(trail(wrong)) == 3


def test_a_lock_is_in_the_trail_once_with_how_many_were_wrong(bob: User) -> None:
    guess(30)
    assert trail("locked out") == [("carillon", "user bob", HERE)]
    assert AuditEntry.objects.get(action="locked out").detail["wrong"] == 10


def test_a_log_in_after_wrong_passwords_says_how_many_there_were(bob: User) -> None:
    guess(3)
    is_let_in(browser())
    assert AuditEntry.objects.get(action="logged in").detail == {"wrong": 3}


def test_an_attack_does_not_fill_the_trail(bob: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login_throttle, "NOTED", login_throttle.Limit(5, 3600))
    for number in range(20):
        guess(1, address=f"10.0.{number}.1")
    assert AuditEntry.objects.count() == 5
    minutes_pass(61)
    guess(1)
    assert AuditEntry.objects.count() == 6


def test_old_guesses_are_forgotten(bob: User) -> None:
    for number in range(30):
        guess(1, f"name{number}", address=f"10.0.{number}.1")
    minutes_pass(60)
    guess(1, "one-more")
    assert Guesses.objects.count() <= 3


# --- Other doors with a password -----------------------------------------------------------------


def change(client: Client, old: str, new: str = "seven bells before noon", **more: str) -> Any:
    values = {"old_password": old, "new_password1": new, "new_password2": new, **more}
    return client.post(reverse("admin:password_change"), values)


def test_guessing_the_old_password_at_an_open_page_is_stopped(bob: User) -> None:
    own = browser()
    is_let_in(own)
    answers = [change(own, "wrong").status_code for _ in range(11)]
    assert answers == [200] * 9 + [429] * 2
    assert change(own, PASSWORD).status_code == 429
    assert trail("refused a wrong password for") == [("carillon", "user bob", HERE)]


def test_a_new_password_that_is_refused_is_no_wrong_guess(bob: User) -> None:
    own = browser()
    is_let_in(own)
    assert {change(own, PASSWORD, "short").status_code for _ in range(15)} == {200}
    assert change(own, PASSWORD).status_code == 302
