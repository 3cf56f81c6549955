"""A password has twelve characters at least and is no common one, wherever it is set."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.management import CommandError, call_command

from config.stack.secret_values import GENERATORS
from notifications.staff.team import Role
from tests.admin.desk import Desk
from tests.roles.people import logged_in, somebody

pytestmark = pytest.mark.django_db
BAD = ["elevenchars", "administrator", "123456789012345"]


@pytest.mark.parametrize("password", BAD)
def test_createsuperuser_refuses_it(password: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", password)
    with pytest.raises(CommandError, match="assword"):
        call_command("createsuperuser", "--no-input", username="ada", email="")
    assert not User.objects.exists()


def test_createsuperuser_takes_a_good_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", "five quiet bells")
    call_command("createsuperuser", "--no-input", username="ada", email="", stdout=StringIO())
    assert User.objects.get().check_password("five quiet bells")


def test_createsuperuser_offers_no_way_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getpass", lambda *_: "short")
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    options: dict[str, Any] = {"username": "ada", "email": "", "stdin": Terminal()}
    with pytest.raises(CommandError, match="12"):
        call_command("createsuperuser", **options, stdout=StringIO(), stderr=StringIO())
    assert not User.objects.exists()


class Terminal:
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("password", BAD)
def test_the_pages_refuse_it(password: str) -> None:
    desk = Desk(logged_in(Role.OWNER))
    bob = somebody(Role.VIEWER, "bob")
    twice = {"password1": password, "password2": password}
    desk.save("auth_user_add", username="eve", role="viewer", **twice)
    desk.save("auth_user_password_change", bob.pk, usable_password="true", **twice)
    assert not User.objects.filter(username="eve").exists()
    bob.refresh_from_db()
    assert not bob.check_password(password)


@pytest.mark.parametrize("password", BAD)
def test_the_first_user_of_make_run_has_a_good_one_too(
    password: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADMIN_PASSWORD", password)
    with pytest.raises(CommandError, match="ADMIN_PASSWORD"):
        call_command("demo", "--contacts", "1", stdout=StringIO())
    assert not User.objects.exists()


def test_the_generated_one_passes() -> None:
    for _ in range(200):
        validate_password(GENERATORS["ADMIN_PASSWORD"](), User(username="admin"))
