"""Very many log-ins: they wait for each other, and keep nobody else from logging in."""

from __future__ import annotations

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from notifications.staff import password_slots
from notifications.staff.login_throttle import Guesses
from notifications.staff.team import Role
from tests.admin.desk import text_of
from tests.roles.people import somebody
from tests.security.at_the_door import HERE, THERE, browser, guess, is_let_in, knock, minutes_pass
from tests.security.way_in.hashing import CountingHasher

MOST = 30
RIGHT = {"username": "ada", "password": "a long pass phrase"}


def test_beyond_two_at_once_a_log_in_is_told_to_come_back_and_is_no_guess(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    somebody(Role.OWNER, "ada")
    monkeypatch.setattr(password_slots, "ROOM_SECONDS", 0.01)
    with password_slots.hold_slot(), password_slots.hold_slot():
        reply = Client().post("/admin/login/", RIGHT)
        assert reply.status_code == 200 and "Try again in a few seconds" in text_of(reply)
        assert not Guesses.objects.exists()
    assert Client().post("/admin/login/", RIGHT).status_code == 302


@pytest.mark.parametrize("password", ["wrong", RIGHT["password"]])
def test_a_log_in_makes_room_again_however_it_ended(db: None, password: str) -> None:
    somebody(Role.OWNER, "ada")
    for _ in range(4):
        Client().post("/admin/login/", {**RIGHT, "password": password})
    with password_slots.hold_slot(), password_slots.hold_slot():
        pass


# --- Of one account -------------------------------------------------------------------------------


@pytest.fixture
def bob(db: None, settings: LazySettings) -> User:
    hasher = f"{CountingHasher.__module__}.CountingHasher"
    settings.PASSWORD_HASHERS = [hasher]
    return somebody(Role.VIEWER, "bob")


def test_an_account_that_logs_in_very_often_has_to_wait_and_no_other_has(bob: User) -> None:
    somebody(Role.VIEWER, "eve")
    assert all(is_let_in(browser()) for _ in range(MOST))
    spent = CountingHasher.runs
    reply = knock(browser(THERE), password=RIGHT["password"])
    assert (reply.status_code, CountingHasher.runs) == (429, spent)
    assert "logged in too often" in text_of(reply) and "wrong" not in text_of(reply)
    assert 240 < int(reply["Retry-After"]) <= 300
    assert is_let_in(browser(), "eve")
    minutes_pass(5)
    assert is_let_in(browser())


def test_strangers_who_guess_do_not_use_up_the_log_ins_of_an_account(bob: User) -> None:
    for number in range(1, 6):
        guess(9, address=f"198.51.100.{number}")
    assert all(is_let_in(browser(HERE)) for _ in range(MOST))


@pytest.mark.parametrize("page", ["admin:password_change", "admin:second_factor"])
def test_pages_that_ask_for_the_password_wait_with_the_log_ins(
    bob: User, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    own = browser()
    assert is_let_in(own)
    monkeypatch.setattr(password_slots, "ROOM_SECONDS", 0.01)
    asked = {"old_password": RIGHT["password"], "password": RIGHT["password"], "step": "begin"}
    spent = CountingHasher.runs
    with password_slots.hold_slot(), password_slots.hold_slot():
        reply = own.post(reverse(page), asked)
    assert "Try again in a few seconds" in text_of(reply)
    assert CountingHasher.runs == spent
    replies = [own.post(reverse(page), asked).status_code for _ in range(MOST)]
    assert replies == [200] * (MOST - 1) + [429]
