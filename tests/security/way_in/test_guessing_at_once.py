"""Many guesses in the same moment: each is counted before it is looked at."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.contrib.auth.models import User
from django.db import connection

from notifications.staff import password_slots
from notifications.staff.login_throttle import Guesses
from notifications.staff.team import Role
from tests.roles.people import somebody
from tests.security.at_the_door import THERE, browser, is_let_in, knock

pytestmark = pytest.mark.django_db(transaction=True)
AT_ONCE, EACH = 6, 4


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """They wait for each other, however slow the machine."""
    monkeypatch.setattr(password_slots, "ROOM_SECONDS", 30)


@pytest.fixture
def bob(transactional_db: None) -> User:
    return somebody(Role.VIEWER, "bob")


def test_of_guesses_that_come_at_once_none_slips_by(bob: User) -> None:
    together = Barrier(AT_ONCE)

    def guess(_: int) -> list[int]:
        together.wait()
        found = [knock(browser()).status_code for _ in range(EACH)]
        connection.close()
        return found

    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = [status for found in pool.map(guess, range(AT_ONCE)) for status in found]
    assert sorted(answers) == [200] * 9 + [429] * (AT_ONCE * EACH - 9)


def test_people_who_log_in_at_once_leave_no_wrong_one_counted(bob: User) -> None:
    together = Barrier(AT_ONCE)

    def come_in(_: int) -> bool:
        together.wait()
        found = all(is_let_in(browser(THERE)) for _ in range(EACH))
        connection.close()
        return found

    with ThreadPoolExecutor(AT_ONCE) as pool:
        assert all(pool.map(come_in, range(AT_ONCE)))
    counted = sorted(Guesses.objects.values_list("wrong", flat=True))
    assert counted[-1] == AT_ONCE * EACH and set(counted[:-1]) <= {0}
