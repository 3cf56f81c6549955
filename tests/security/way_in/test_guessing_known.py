"""Guesses from browsers that were in before: what ends their mark, and what all have together."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from notifications.staff import second_factor
from notifications.staff.team import Role
from tests.given.factor import code_of, with_factor
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

pytestmark = pytest.mark.django_db
NEW = "seven bells before noon"
ASK, OWN = "admin:second_factor_ask", "admin:second_factor"


@pytest.fixture
def bob(db: None) -> User:
    return somebody(Role.OWNER, "bob")


def left(client: Client) -> Client:
    client.post(reverse("admin:logout"))
    return client


def known(address: str = HERE, code: str = "") -> Client:
    """A browser in which bob was."""
    client = browser(address)
    assert is_let_in(client)
    if code:
        assert client.post(reverse(ASK), {"code": code}).status_code == 302
    return left(client)


def wrong_passwords(client: Client) -> int:
    """How many are refused before it is locked: with the one that locks it, one more."""
    return [knock(client).status_code for _ in range(12)].count(200)


def wrong_codes(client: Client) -> int:
    assert is_let_in(client)
    return [client.post(reverse(ASK), {"code": "000000"}).status_code for _ in range(7)].count(200)


# --- What ends a mark ----------------------------------------------------------------------------


def test_with_a_new_password_no_browser_is_known(bob: User) -> None:
    marked = [known(THERE) for _ in range(8)]
    bob.set_password(NEW)
    bob.save()
    assert [wrong_passwords(client) for client in marked] == [9, *[0] * 7], "as from one address"
    assert not is_let_in(marked[0], password=NEW)


def test_with_a_new_second_factor_no_browser_is_known(bob: User) -> None:
    own = known()
    with_factor(bob)
    guess(10)
    assert not is_let_in(own)


def test_with_a_second_factor_that_was_forgotten_no_browser_is_known(bob: User) -> None:
    own = known(code=with_factor(bob)[0])
    second_factor.forget(bob)
    guess(10)
    assert not is_let_in(own)


def test_ones_own_new_password_keeps_the_browser_known_in_which_it_was_set(bob: User) -> None:
    own = browser()
    assert is_let_in(own)
    values = {"old_password": PASSWORD, "new_password1": NEW, "new_password2": NEW}
    assert own.post(reverse("admin:password_change"), values).status_code == 302
    left(own)
    guess(10)
    assert is_let_in(own, password=NEW)


def test_setting_a_factor_up_keeps_the_browser_known_in_which_it_was_done(bob: User) -> None:
    own = browser()
    assert is_let_in(own)
    own.post(reverse(OWN), {"step": "begin", "password": PASSWORD})
    own.post(reverse(OWN), {"step": "confirm", "code": code_of(bob)})
    assert second_factor.device_of(bob)
    left(own)
    guess(10)
    assert is_let_in(own)


def test_turning_the_factor_off_keeps_the_browser_known_in_which_it_was_done(bob: User) -> None:
    codes = with_factor(bob)
    own = browser()
    assert is_let_in(own)
    own.post(reverse(ASK), {"code": codes[0]})
    own.post(reverse(OWN), {"step": "off", "password": PASSWORD, "code": codes[1]})
    assert second_factor.device_of(bob) is None
    left(own)
    guess(10)
    assert is_let_in(own)


def test_a_mark_says_nothing_of_the_password_it_was_made_with(bob: User) -> None:
    mark = known().cookies["browser"].value
    assert bob.password not in mark and bob.password.split("$")[-1] not in mark


# --- What all known browsers have together -------------------------------------------------------


def test_known_browsers_have_fifty_wrong_passwords_together(bob: User) -> None:
    marked = [known() for _ in range(7)]
    assert [wrong_passwords(client) for client in marked] == [9, 9, 9, 9, 9, 0, 0]
    assert is_let_in(browser()), "an unknown one is another matter"
    assert not is_let_in(marked[-1])
    minutes_pass(15)
    assert is_let_in(marked[-1])


def test_known_browsers_have_ten_wrong_codes_together(bob: User) -> None:
    codes = with_factor(bob)
    marked = [known(code=code) for code in codes[:4]]
    assert [wrong_codes(client) for client in marked] == [4, 4, 0, 0]


def test_strangers_use_up_nothing_of_what_known_browsers_have(bob: User) -> None:
    own = known()
    for number in range(1, 61):
        guess(1, address=f"198.51.100.{number}")
    assert wrong_passwords(own) == 9


def test_right_passwords_of_known_browsers_are_not_counted(bob: User) -> None:
    own = known()
    assert all(is_let_in(own) for _ in range(25))
    assert wrong_passwords(own) == 9
