"""A list that rules exclude by stays: without it, a run would reach those who were left out."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection, connections, transaction
from django.utils import timezone

from campaigns import control
from campaigns.audiences.audience import Audience, hold_lists
from campaigns.engine import engine
from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.api.caller import Caller
from tests.given.builders import make_audience, make_campaign, make_contact, make_project

FUTURE = datetime(2035, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
def opted_out(ours: Project) -> Audience:
    audience = make_audience(ours, name="Opted out", kind="list")
    audience.members.create(contact=make_contact(ours))
    return audience


def everybody_but(audience: Audience) -> dict[str, Any]:
    return {"all": [{"field": "list", "op": "not_in", "value": [audience.pk]}]}


def launch(campaign: Campaign, now: datetime | None = None) -> Run:
    """Launched with rules that its audience, edited since, does not have any more."""
    run = control.launch(campaign, by="user:ada", now=now or timezone.now())
    Audience.objects.filter(pk=campaign.audience_id).update(rules={"all": []})
    return run


def refusal(alice: Caller, audience: Audience) -> str:
    answer = alice.delete(f"audiences/{audience.pk}")
    assert (answer.status_code, answer["Content-Type"]) == (409, "application/problem+json")
    assert answer.json()["type"] == "urn:carillon:in-use"
    assert audience.members.count() == 1
    assert not AuditEntry.objects.filter(action="deleted").exists()
    return str(answer.json()["detail"])


def test_a_list_that_another_audience_names_stays(
    alice: Caller, ours: Project, opted_out: Audience
) -> None:
    make_audience(ours)
    other = make_audience(ours, rules={"any": [{"not": opted_out.effective_rules}]})
    assert refusal(alice, opted_out) == f"Opted out is still used by audience {other.pk}."

    campaign = make_campaign(ours, audience=opted_out)
    said = refusal(alice, opted_out)
    assert f"audience {other.pk}" in said and f"campaign {campaign.pk}" in said

    campaign.delete()
    assert alice.delete(f"audiences/{other.pk}").status_code == 204
    assert alice.delete(f"audiences/{opted_out.pk}").status_code == 204


def test_a_list_that_a_run_has_yet_to_ask_for_stays(
    alice: Caller, ours: Project, opted_out: Audience
) -> None:
    audience = make_audience(ours, rules=everybody_but(opted_out))
    run = launch(make_campaign(ours, audience=audience, schedule_kind="at", at=FUTURE))
    assert refusal(alice, opted_out) == f"Opted out is still used by run {run.pk}."

    control.cancel(run, by="user:ada")
    assert alice.delete(f"audiences/{opted_out.pk}").status_code == 204


def test_a_list_that_a_series_copies_from_run_to_run_stays_until_it_ends(
    alice: Caller, ours: Project, opted_out: Audience
) -> None:
    first = timezone.now() + DAY
    audience = make_audience(ours, rules=everybody_but(opted_out))
    series = make_campaign(
        ours, audience=audience, schedule_kind="recurring", repeat="daily", at=first
    )
    run = launch(series)
    run.move_to(Run.State.PREPARING)
    engine.advance(run.pk, now=first)
    engine.advance(run.pk, now=first)
    run.refresh_from_db()
    assert run.finished_at is not None  # and the sweep has not made the next one yet
    assert refusal(alice, opted_out) == f"Opted out is still used by run {run.pk}."

    Campaign.objects.filter(pk=series.pk).update(until=timezone.now())
    assert alice.delete(f"audiences/{opted_out.pk}").status_code == 204


def test_what_was_sent_keeps_no_list(alice: Caller, ours: Project, opted_out: Audience) -> None:
    audience = make_audience(ours, rules=everybody_but(opted_out))
    run = launch(make_campaign(ours, audience=audience))
    for _ in range(2):  # freezes, and finishes: nobody has a device
        engine.advance(run.pk, now=timezone.now())
    assert Run.objects.get().state == "finished"
    assert alice.delete(f"audiences/{opted_out.pk}").status_code == 204


def test_another_project_cannot_keep_a_list(
    alice: Caller, charlie: Caller, opted_out: Audience
) -> None:
    make_audience(charlie.project, rules=everybody_but(opted_out))
    assert alice.delete(f"audiences/{opted_out.pk}").status_code == 204


@pytest.mark.django_db(transaction=True)
def test_no_list_goes_while_a_run_is_freezing_by_it() -> None:
    """On another connection: the delete waits for the freezing, and then sees the run."""
    project = make_project()
    audience = make_audience(project, kind="list")
    rules, pk = everybody_but(audience), audience.pk

    def delete() -> None:
        try:
            with transaction.atomic():
                with connection.cursor() as cursor:
                    cursor.execute("SET LOCAL lock_timeout = 200")
                audience.delete()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as other:
        with transaction.atomic():
            assert hold_lists(project.pk, rules) == set()
            with pytest.raises(OperationalError, match="lock timeout"):
                other.submit(delete).result()
        other.submit(delete).result()
    assert hold_lists(project.pk, rules) == {pk}
