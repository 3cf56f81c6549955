"""Very many log-ins at once: they wait for each other, and for nobody else."""

from __future__ import annotations

import pytest
from django.test import Client

from config.pages import log_in
from notifications.staff.guessing import Guesses
from notifications.staff.team import Role
from tests.admin.desk import text_of
from tests.roles.people import somebody

RIGHT = {"username": "ada", "password": "a long pass phrase"}


def test_beyond_two_at_once_a_log_in_is_told_to_come_back_and_is_no_guess(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    somebody(Role.OWNER, "ada")
    monkeypatch.setattr(log_in, "ROOM_SECONDS", 0.01)
    with log_in._room(), log_in._room():
        reply = Client().post("/admin/login/", RIGHT)
        assert reply.status_code == 200 and "Try again in a few seconds" in text_of(reply)
        assert not Guesses.objects.exists()
    assert Client().post("/admin/login/", RIGHT).status_code == 302


@pytest.mark.parametrize("password", ["wrong", RIGHT["password"]])
def test_a_log_in_makes_room_again_however_it_ended(db: None, password: str) -> None:
    somebody(Role.OWNER, "ada")
    for _ in range(4):
        Client().post("/admin/login/", {**RIGHT, "password": password})
    with log_in._room(), log_in._room():
        pass
