"""The page that says how long a project keeps what, and asks before anything is removed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from campaigns import control
from campaigns.runs.run import Run
from config.pages import retention as page
from notifications.people.events import clearing, reading
from notifications.people.events.writing import Event, write
from notifications.people.project import Project
from notifications.people.retention import Retention, days_of
from notifications.staff.audit import AuditEntry
from notifications.staff.team import Role
from tests.admin.desk import Desk, messages_of, text_of
from tests.given.builders import (
    make_audience,
    make_automation,
    make_campaign,
    make_contact,
    make_project,
    make_scheduled_run,
)
from tests.roles.people import logged_in
from tests.variants.shared import make_split

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


def did_not_buy(**value: str) -> dict[str, Any]:
    return {"field": "event", "op": "did_not", "value": {"name": "bought", **value}}


def test_a_shorter_time_names_the_rules_that_look_further_back(
    operator: Desk, shop: Project
) -> None:
    make_audience(shop, name="Lapsed", rules={"all": [did_not_buy(within="P90D")]})
    make_audience(shop, name="Never", rules=did_not_buy())
    make_audience(shop, name="Short", rules=did_not_buy(within="P30D"))
    make_audience(make_project(), name="Elsewhere", rules=did_not_buy())
    run = make_scheduled_run(
        shop,
        NOW + timedelta(days=1),
        audience=make_audience(shop, name="Soon", rules=did_not_buy(within="P60D")),
    )
    make_automation(
        shop, name="Cart", delay_seconds=28 * 86_400, unless_name="bought", on=False
    )  # fmt: skip
    make_automation(shop, name="Hello", delay_seconds=28 * 86_400)

    said = text_of(operator.post("retention", shop.pk, kind="events", days="30"))
    assert "These look further back than 30 days" in said
    assert "Lapsed : did not do “bought” within the last 90 days" in said
    assert "Never : did not do “bought”" in said
    assert f"Run {run.pk}" in said and "within the last 60 days" in said
    assert not any(name in said for name in ("Short", "Elsewhere", "Cart", "Hello"))
    assert "Cart : waits 28 d" in text_of(
        operator.post("retention", shop.pk, kind="events", days="5")
    )

    longer = text_of(operator.post("retention", shop.pk, kind="events", days="500"))
    other = text_of(operator.post("retention", shop.pk, kind="inbox", days="5"))
    assert "look further back" not in longer + other
    operator.post("retention", shop.pk, kind="events", days="30", confirmed="yes")
    assert days_of(shop.pk, "events") == 30


def test_a_shorter_time_names_the_goals_that_need_events_for_longer(
    operator: Desk, shop: Project
) -> None:
    goal: dict[str, Any] = {"goal_event": "bought", "ttl_seconds": 28 * 86_400}
    trial: dict[str, Any] = {
        **goal,
        "first_percent": 20,
        "winner_by": "goal",
        "first_wait_seconds": 5 * 86_400,
    }
    make_split(shop, name="Draft trial", **trial)
    make_split(shop, name="By opens", **{**trial, "winner_by": "opened"})
    make_split(shop, name="Quick trial", **{**trial, "first_wait_seconds": 86_400})
    make_campaign(shop, name="Slow goal", **goal, goal_within_seconds=10 * 86_400)
    make_campaign(shop, name="Archived", **trial, archived_at=NOW)
    make_split(make_project(), name="Elsewhere", **trial)
    soon: dict[str, Any] = {"schedule_kind": "at", "at": NOW + timedelta(days=1)}
    launched = [
        control.launch(make_split(shop, name=name, **trial, **soon), by="user:alice", now=NOW)
        for name in ("Undecided", "Decided")
    ]
    Run.objects.filter(pk=launched[1].pk).update(winner=1)
    over = control.launch(
        make_campaign(shop, name="Window", **goal, goal_within_seconds=9 * 86_400),
        by="user:alice",
        now=NOW,
    )
    ended = {"state": "finished", "planned": 0, "finished_at": NOW}
    Run.objects.filter(pk=over.pk).update(**ended, started_at=NOW - timedelta(days=8))

    said = text_of(operator.post("retention", shop.pk, kind="events", days="2"))
    assert "Draft trial : waits 5 days, then chooses a variant by “bought”" in said
    assert "Slow goal : counts “bought” for 10 days" in said
    undecided = f"Run {launched[0].pk} of Undecided : waits 5 days, then chooses a variant"
    assert undecided in said
    assert f"Run {over.pk} of Window : counts “bought” for 9 days" in said
    others = ("By opens", "Quick trial", "Archived", "Elsewhere", "Decided")
    assert not any(name in said for name in others)

    Run.objects.filter(pk=over.pk).update(started_at=NOW - timedelta(days=10))
    later = text_of(operator.post("retention", shop.pk, kind="events", days="2"))
    assert "Window" not in later and undecided in later
    longer = text_of(operator.post("retention", shop.pk, kind="events", days="10"))
    assert "look further back" not in longer


def test_events_that_an_automation_waits_for_are_kept_while_it_is_on(
    operator: Desk, shop: Project
) -> None:
    cart = make_automation(shop, name="Cart", delay_seconds=7 * 86_400, unless_name="bought")
    reply = operator.post("retention", shop.pk, kind="events", days="6", confirmed="yes")
    assert "Pause the automation “Cart” first" in text_of(reply)
    assert days_of(shop.pk, "events") == 400
    control.pause_automation(cart, by="user:alice")
    operator.post("retention", shop.pk, kind="events", days="6", confirmed="yes")
    assert days_of(shop.pk, "events") == 6
