"""Real workers ask a project's own server while they send, and follow what it says."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from django.utils import timezone

from campaigns import control, tasks
from campaigns.runs.run import Run
from notifications.pacing.load import Load
from notifications.people.project import Project
from notifications.task_queue import enqueue_on_commit
from tests.given.builders import make_campaign, make_people
from tests.given.load_reports import AT_THE_FLOOR, a_second
from tests.given.waiting import eventually
from tests.servers.fcm import Fcm
from tests.servers.receiver import Receiver
from tests.servers.workers import Workers


@pytest.fixture
def askers(transactional_db: None, fcm: Fcm, receiver: Receiver) -> Iterator[Workers]:
    """Workers that may call the test's own server."""
    allowed = {"OUTGOING_ALLOWED": "127.0.0.0/8,::1/128", "OUTGOING_CA_FILE": receiver.ca_file}
    workers = Workers(fcm, allowed)
    for name in ("bulk", "control", "beat"):
        workers.start(name)
    workers.wait_until_ready()
    yield workers
    for name in tuple(workers.processes):
        workers.kill(name)


@pytest.mark.django_db(transaction=True)
def test_the_rate_at_fcm_follows_the_address_also_after_a_kill(
    project: Project, fcm: Fcm, receiver: Receiver, askers: Workers
) -> None:
    receiver.pages["/hooks?of=us"], receiver.says = 200, b'{"level": 0}'
    Project.objects.filter(pk=project.pk).update(load_url=receiver.url)
    make_people(project, 9_000)
    campaign = make_campaign(project, rate_per_second=400)
    run = control.launch(campaign, by="user:alice", now=timezone.now())
    enqueue_on_commit(tasks.advance, run_id=run.pk)
    eventually("it sends", lambda: fcm.counts()["accepted"] > 400)
    receiver.says = b'{"level": 1}'
    eventually("it keeps to the floor", lambda: a_second(fcm) <= AT_THE_FLOOR)
    assert a_second(fcm) > 0
    askers.kill("bulk")
    before = Load.objects.get().reported_at
    askers.start("bulk")
    eventually("another asks", lambda: Load.objects.get().reported_at > before)
    receiver.pages.clear()  # silent from now on
    assert max(a_second(fcm), a_second(fcm)) <= AT_THE_FLOOR
    receiver.pages["/hooks?of=us"], receiver.says = 200, b'{"level": 0}'
    eventually("it sends as planned", lambda: a_second(fcm) > 2 * AT_THE_FLOOR)
    times = [one.at for one in receiver.heard]
    assert min(later - one for one, later in pairwise(times)) > 1.5, "one at a time asks"
    control.cancel(Run.objects.get(pk=run.pk), by="user:alice")
