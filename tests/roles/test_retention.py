"""The page that says how long a project keeps what, and asks before anything is removed."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from config.pages import retention as page
from notifications.people.events import clearing, reading
from notifications.people.events.writing import Event, write
from notifications.people.project import Project
from notifications.people.retention import Retention, days_of
from notifications.staff.audit import AuditEntry
from notifications.staff.team import Role
from tests.admin.desk import Desk, messages_of, text_of
from tests.given.builders import make_contact, make_project
from tests.roles.people import logged_in

NOW = timezone.now()


@pytest.fixture
def shop(db: None) -> Project:
    shop = make_project(name="Shop")
    ada = make_contact(shop, external_id="ada")
    write(shop.pk, [Event("ada", "bought", NOW - timedelta(days=days)) for days in (1, 20, 50)])
    assert len(reading.newest_of(ada.pk)) == 3
    return shop


@pytest.fixture
def operator(db: None) -> Desk:
    return Desk(logged_in(Role.OPERATOR))


def test_the_page_says_what_there_is_and_what_goes_next(operator: Desk, shop: Project) -> None:
    said = operator.open("retention", shop.pk)
    assert "Who was in old runs" in said and "Kept for ever" in said
    assert "Kept 400 days There is 3 events Removed next" in said
    assert said.count("Without a number, it is kept for ever.") == 1
    Retention.objects.create(project=shop, kind="events", days=30)
    assert "Removed next 1 event within 10 minutes" in operator.open("retention", shop.pk)


def test_the_day_of_the_next_removal_is_the_one_after_the_oldest_had_its_time(
    operator: Desk, shop: Project
) -> None:
    day = NOW - timedelta(days=50) + timedelta(days=401)
    assert f"{day:%b %Y}" in operator.open("retention", shop.pk)


def test_a_change_asks_first_and_says_how_much_it_would_remove(
    operator: Desk, shop: Project
) -> None:
    said = text_of(operator.post("retention", shop.pk, kind="events", days="30"))
    assert "Keep it 30 days instead of 400 days?" in said
    assert "Within 10 minutes this removes 1 event. There is no way back." in said
    assert days_of(shop.pk, "events") == 400
    assert not AuditEntry.objects.filter(action="changed").exists()


def test_a_confirmed_change_is_kept_and_audited(operator: Desk, shop: Project) -> None:
    reply = operator.post("retention", shop.pk, kind="events", days="30", confirmed="yes")
    assert messages_of(reply) == ["Events: kept 30 days from now on."]
    assert days_of(shop.pk, "events") == 30
    entry = AuditEntry.objects.get(action="changed")
    assert (entry.project, entry.changes) == (shop, {"days_events_are_kept": [400, 30]})
    operator.post("retention", shop.pk, kind="events", days="", confirmed="yes")
    assert days_of(shop.pk, "events") is None


def test_a_change_that_removes_nothing_says_so(operator: Desk, shop: Project) -> None:
    said = text_of(operator.post("retention", shop.pk, kind="ledger", days="365"))
    assert "Keep it 365 days instead of for ever?" in said
    assert "Nothing is removed by this now." in said


@pytest.mark.parametrize("typed", ["0", "-1", "3651", "9" * 30, "ten", "1.5", "٣"])
def test_days_that_are_none_are_refused_beside_their_field(
    operator: Desk, shop: Project, typed: str
) -> None:
    reply = operator.post("retention", shop.pk, kind="events", days=typed, confirmed="yes")
    said = text_of(reply)
    assert "or nothing to keep it for ever." in said
    html = reply.content.decode()
    assert f'value="{typed[:30]}"' in html
    assert 'aria-describedby="events-error days-hint" aria-invalid="true"' in html
    assert html.count('id="events-error"') == html.count('id="days-hint"') == 1
    assert days_of(shop.pk, "events") == 400


def test_an_unknown_kind_or_project_changes_nothing(operator: Desk, shop: Project) -> None:
    operator.post("retention", shop.pk, kind="people", days="1", confirmed="yes")
    assert not Retention.objects.exists()
    assert operator.post("retention", 10**9, kind="events", days="1").status_code == 404


def test_the_project_page_leads_there(operator: Desk, shop: Project) -> None:
    assert "How long data is kept" in operator.open("notifications_project_change", shop.pk)


def test_what_cannot_be_counted_in_time_is_said_not_to_be(
    operator: Desk, shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = clearing.COUNT.replace(
        "WHERE project_id", "WHERE EXISTS (SELECT FROM pg_sleep(9)) AND project_id"
    )
    monkeypatch.setattr(clearing, "COUNT", slow)
    monkeypatch.setattr(clearing, "COUNTING_SECONDS", 0.05)
    Retention.objects.create(project=shop, kind="events", days=30)
    said = operator.open("retention", shop.pk)
    assert "There is not counted: it takes too long Removed next not counted" in said
    asked = text_of(operator.post("retention", shop.pk, kind="events", days="10"))
    assert "Keep it 10 days instead of 30 days? There is too much to be counted" in asked
    operator.post("retention", shop.pk, kind="events", days="10", confirmed="yes")
    assert days_of(shop.pk, "events") == 10


def test_old_runs_that_cannot_be_counted_in_time_hold_no_web_process(
    operator: Desk, shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "LOOKING_SECONDS", 0.0)
    assert "Who was in old runs" in operator.open("retention", shop.pk)
    assert operator.open("retention", shop.pk).count("not counted") == 12
