"""Whatever a worker asks of PostgreSQL, a short loss of it ends neither the chunk nor an answer."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import OperationalError

from campaigns.runs.claiming import Claim
from campaigns.runs.ledger import Delivery, Retry
from campaigns.runs.run import Run
from campaigns.sending import breakers, platform_keys, sending, settling, worker_database
from notifications.people.device import Device
from notifications.people.project import Project
from tests.given.builders import addresses, make_people, make_run
from tests.servers.fcm import Fcm


def lose_it_once(monkeypatch: pytest.MonkeyPatch, place: Any, name: str) -> list[str]:
    """PostgreSQL is away at the first call of what is asked there."""
    deed, asked = getattr(place, name), list[str]()

    def failing_once(*arguments: Any, **more: Any) -> Any:
        asked.append(name)
        if len(asked) == 1:
            raise OperationalError("the server went away")
        return deed(*arguments, **more)

    monkeypatch.setattr(place, name, failing_once)
    monkeypatch.setattr("django.db.connection.close", lambda: None)  # it would end this test's own
    return asked


@pytest.mark.parametrize(
    ("place", "name"),
    [
        (worker_database, "gateway_of"),
        (breakers, "proven"),
        (worker_database, "choose_recipients"),
        (breakers, "judge_window"),
        (settling, "retire_dead"),
        (Claim, "close"),
    ],
)
def test_a_worker_asks_again_until_postgresql_answers(
    project: Project, fcm: Fcm, monkeypatch: pytest.MonkeyPatch, place: Any, name: str
) -> None:
    make_people(project, addresses(dead=1, live=4))
    run = make_run(project)
    asked = lose_it_once(monkeypatch, place, name)

    assert sending.send(run.pk, 1, run.epoch) == {"accepted": 4, "rejected": 1}

    assert len(asked) > 1
    assert len(fcm.witness()) == 4
    assert not Device.objects.filter(address="dead-0:APA91b", retired_at=None).exists()
    assert run.chunks.get().state == "closed"


def test_a_platform_is_held_back_though_postgresql_is_away_for_a_moment(
    project: Project, fcm: Fcm, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_people(project, addresses(thirdparty=5))
    Device.objects.update(platform="ios")
    run = make_run(project)
    asked = lose_it_once(monkeypatch, platform_keys, "is_missing")

    sending.send(run.pk, 1, run.epoch)

    assert len(asked) > 1
    assert Run.objects.get(pk=run.pk).held_platforms == ["ios"]
    assert not Delivery.objects.filter(run_id=run.pk).exists()


def test_answers_that_nobody_knows_are_counted_once_though_postgresql_is_away_for_a_moment(
    project: Project, fcm: Fcm, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_people(project, 60)
    run = make_run(project, rate_per_second=5)
    run.chunks.update(reasons={"unregistered": 1})  # so the rows are asked what it means
    fcm.script("answer", answer={"status": 418, "body": "tea"}, times=9)
    asked = lose_it_once(monkeypatch, breakers, "_evidence")

    sending.send(run.pk, 1, run.epoch)

    assert len(asked) > 1
    assert Retry.objects.count() == 9, "fewer than it takes for a pause"
    assert Run.objects.get(pk=run.pk).state == "sending"
