"""Somebody is erased while a request to their phone is on its way."""

from __future__ import annotations

from concurrent.futures import Future

import pytest

from campaigns.runs.ledger import Answer, Delivery
from campaigns.sending import sending, worker_database
from notifications.gateway import Arrived, Outcome, Push, Verdict
from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.given.builders import make_people, make_run

pytestmark = pytest.mark.django_db


def test_what_fcm_says_of_them_is_not_kept(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    erased, other = make_people(project, 2)

    def refused(_gateway: object, pushes: list[Push], _permit: object) -> Future[list[Outcome]]:
        Contact.objects.get(pk=erased.contact_id).delete()
        answers: Future[list[Outcome]] = Future()
        answers.set_result([
            Outcome(
                reference=push.reference, verdict=Verdict.DEAD_ADDRESS, arrived=Arrived.NO,
                reason="unregistered", http=404, code="UNREGISTERED", detail="gone",
            )
            for push in pushes
        ])  # fmt: skip
        return answers

    monkeypatch.setattr(sending, "dispatch", refused)
    monkeypatch.setattr(worker_database, "gateway_of", lambda _project: None)
    run = make_run(project)

    sending.send(run.pk, 1, run.epoch)

    assert list(Answer.objects.values_list("contact_id", flat=True)) == [other.contact_id]
    assert Delivery.objects.filter(run_id=run.pk, status="rejected").count() == 2
