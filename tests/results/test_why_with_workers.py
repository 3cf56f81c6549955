"""The same with real workers: FCM refuses some, and the rows tell what it said to each."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.utils import timezone

from campaigns import control, tasks
from campaigns.results.why.why import Why, why
from campaigns.runs import sums
from campaigns.runs.ledger import Answer
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.task_queue import enqueue_on_commit
from tests.given.builders import make_campaign, make_people
from tests.given.waiting import eventually
from tests.servers.fcm import Fcm
from tests.servers.workers import Workers

pytestmark = pytest.mark.django_db(transaction=True)


def ended(run: Run) -> bool:
    """Swept meanwhile, as beat would: what was throttled is tried again."""
    call_command("sweep", "--once")
    run.refresh_from_db()
    return run.finished_at is not None


def told(run: Run, address: str) -> Why:
    return why(run, Contact.objects.get(devices__address=address), now=timezone.now())


def said(found: Why) -> list[tuple[int, str, bool]]:
    (row,) = found.rows
    return [(one.http, one.code, one.may_have_arrived) for one in row.answers]


def test_each_is_told_what_fcm_said_to_them_on_the_way(
    transactional_db: None, project: Project, fcm: Fcm, workers: Workers
) -> None:
    odd = ["dead-1:APA91b", "throttled-1:APA91b", "broken-1:APA91b"]
    make_people(project, [*([""] * 300), *odd])
    campaign = make_campaign(project, on_unknown="hold")
    run = control.launch(campaign, by="user:alice", now=timezone.now())
    enqueue_on_commit(tasks.advance, run_id=run.pk)

    eventually("the run ends", lambda: ended(run))

    dead, throttled, broken = (told(run, address) for address in odd)
    assert (dead.ending, said(dead)) == ("rejected", [(404, "UNREGISTERED", False)])
    assert (throttled.ending, said(throttled)) == ("accepted", [(429, "QUOTA_EXCEEDED", False)])
    assert (broken.ending, said(broken)) == ("unknown", [(500, "INTERNAL", True)])
    assert Answer.objects.count() == len(odd), "who was accepted at once has none"
    (row,) = throttled.rows
    first, second = row.windows
    answer = row.answers[0]
    assert first.opened_at <= answer.at <= second.opened_at, "asked, refused, asked again"
    assert sums.totals_of(run).accepted == 301
