"""The emulator's phones report what becomes of a campaign, and every report is kept once."""

from __future__ import annotations

import pytest

from campaigns.engagement.receipt import EchoSum, Event, Receipt, Reporter
from campaigns.runs.run import Run
from campaigns.sending import sending
from notifications.people.project import Project
from tests.given.builders import make_people, make_run
from tests.given.waiting import eventually
from tests.servers.fcm import Fcm
from tests.servers.feed import Feed

pytestmark = pytest.mark.django_db(transaction=True)
PEOPLE = 60


@pytest.fixture
def phones(fcm: Fcm, feed: Feed) -> Fcm:
    fcm.change(
        phones=True, beacon_url=f"http://127.0.0.1:{feed.port}/api/v1/receipts",
        receive_ms=1, open_ms=1, displayed_percent=100, opened_percent=40, offline_percent=0,
    )  # fmt: skip
    return fcm


def counted(run: Run) -> dict[str, int]:
    sums = EchoSum.objects.filter(run_id=run.pk, by="")
    return {Event(each.event).name.lower(): each.count for each in sums}


def sent(project: Project) -> Run:
    make_people(project, PEOPLE)
    run = make_run(project)
    for chunk in run.chunks.all():
        sending.send(run.pk, chunk.number, run.epoch)
    return run


def test_every_report_of_the_phones_is_kept_once(phones: Fcm, project: Project) -> None:
    Project.objects.filter(pk=project.pk).update(asks_receipts=True)
    run = sent(project)
    assert len(phones.witness()) == PEOPLE

    def all_told() -> object:
        counts = phones.counts()
        return counts["phones"].get("displayed") == PEOPLE == counted(run).get("displayed")

    eventually("all phones have told", all_told)
    eventually("nothing waits", lambda: phones.counts()["beacon"]["waiting"] == 0)
    eventually("it is as they say", lambda: counted(run) == phones.counts()["phones"])
    assert Receipt.objects.count() == sum(counted(run).values())
    assert Reporter.objects.filter(event=Event.RECEIVED).count() == PEOPLE


def test_phones_of_a_project_that_does_not_ask_report_nothing(
    phones: Fcm, project: Project
) -> None:
    run = sent(project)
    eventually("they are shown", lambda: phones.counts()["phones"].get("displayed") == PEOPLE)
    assert phones.counts()["beacon"] == {"waiting": 0}
    assert counted(run) == {}
