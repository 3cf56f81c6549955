"""Why people were not accepted: what the run's page says of it is true."""

from __future__ import annotations

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.ledger import Delivery
from campaigns.run import Run
from notifications.project import Project
from tests.admin.desk import Desk
from tests.admin.test_run import settle
from tests.builders import make_people, make_run

pytestmark = pytest.mark.django_db


def test_the_page_says_retired_only_of_devices_that_were(desk: Desk, project: Project) -> None:
    (device, *_others) = make_people(project, 9)
    run = make_run(project)
    settle(run, accepted=3, rejected=2)
    device.retired_at, device.retired_reason = timezone.now(), "unregistered"
    device.retired_by = run.reference
    device.save()

    text = desk.open("campaigns_run_change", run.pk)

    assert "FCM called 2 addresses dead. Devices retired for it: 1." in text
    assert "The others are kept" in text


def test_a_code_of_the_next_release_stands_as_it_is(desk: Desk, project: Project) -> None:
    """During an upgrade its workers write beside our pages."""
    make_people(project, 9)
    run = make_run(project)
    settle(run, accepted=3, rejected=2)
    run.chunks.update(reasons={"swallowed_by_a_whale": 2})
    Delivery.objects.filter(run_id=run.pk, status="rejected").update(reason="swallowed_by_a_whale")
    Run.objects.filter(pk=run.pk).update(state="paused", cause="whale")

    assert "swallowed_by_a_whale 2" in desk.open("campaigns_run_change", run.pk)
    assert desk.client.get(reverse("admin:run_deliveries", args=[run.pk])).status_code == 200
