"""A project's page says where apps report to, with what; and what FCM itself tells."""

from __future__ import annotations

import pytest
from django.conf import LazySettings
from django.urls import reverse
from django.utils import timezone

from campaigns.runs.run import Run
from notifications.fcm_data.day import Asking, FcmDay, Trouble
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.given.builders import make_people, make_run
from tests.given.runs import ended

pytestmark = pytest.mark.django_db
APP = "1:1234567890:android:321abc456def7890"


def page(desk: Desk, project: Project) -> str:
    return desk.open("notifications_project_change", project.pk)


def test_the_snippets_have_the_real_address(
    desk: Desk, project: Project, settings: LazySettings
) -> None:
    settings.PHONES_URL = "https://ring.shop.example"
    said = page(desk, project)
    assert "https://ring.shop.example/api/v1/receipts" in said
    assert 'const RECEIPTS = "https://ring.shop.example/api/v1/receipts";' in said
    for part in ("Web: the service worker", "Android: Kotlin", "iOS: Swift"):
        assert part in said
    assert "push.example.com" not in said


def test_without_an_address_it_says_who_sets_it(
    desk: Desk, project: Project, settings: LazySettings
) -> None:
    settings.PHONES_URL = ""
    said = page(desk, project)
    assert "Not known. An engineer sets PUBLIC_URL" in said
    assert 'const RECEIPTS = "https://push.example.com/api/v1/receipts";' in said


def test_figures_are_asked_for_when_the_app_is_named(desk: Desk, project: Project) -> None:
    assert "Give the app's ID above, and save." in page(desk, project)
    Project.objects.filter(pk=project.pk).update(fcm_app_id=APP)
    assert "Not asked yet: within ten minutes." in page(desk, project)


def test_what_went_wrong_stands_on_the_page_with_its_fix(desk: Desk, project: Project) -> None:
    Project.objects.filter(pk=project.pk).update(fcm_app_id=APP)
    now = timezone.now()
    Asking.objects.create(
        project=project, next_at=now, asked_at=now, trouble=Trouble.OFF, said="<b>not enabled</b>"
    )
    said = page(desk, project)
    assert f"apis/library/fcmdata.googleapis.com?project={project.firebase_project_id}" in said
    assert "Google said: <b>not enabled</b>" in said


def test_what_fcm_tells_stands_on_the_page_and_beside_a_run(desk: Desk, project: Project) -> None:
    Project.objects.filter(pk=project.pk).update(fcm_app_id=APP)
    make_people(project, 3)
    run = make_run(project)
    Run.objects.filter(pk=run.pk).update(analytics_label="tea")
    run = ended(Run.objects.get(pk=run.pk))
    assert "FCM has told nothing of the label “tea” yet" in of_run(desk, run)
    percents = {"delivered": 91.5, "pending": 4, "droppedTtlExpired": 1, "delayedDeviceDoze": 2}
    day = timezone.now().date()
    FcmDay.objects.create(
        project=project, app_id=APP, day=day, label="tea", accepted=1_234, percents=percents
    )
    FcmDay.objects.create(
        project=project, app_id=APP, day=day, label="coffee", accepted=5, percents={}
    )
    said = page(desk, project)
    assert "tea 1,234 91.5 % 4 % – 1 % 2 %" in said and "coffee 5 – – – – –" in said
    said = of_run(desk, run)
    assert "1,234 91.5 % 4 % – 1 % 2 %" in said and " 5 – – – – –" not in said
    assert "By our own rows FCM accepted 3 Android messages of this run." in said


def test_a_run_without_a_label_and_a_project_without_an_app_show_none(
    desk: Desk, project: Project
) -> None:
    make_people(project, 1)
    run = ended(make_run(project))
    assert "own figures" not in of_run(desk, run)
    Run.objects.filter(pk=run.pk).update(analytics_label="tea")
    assert "own figures" not in of_run(desk, run)


def of_run(desk: Desk, run: Run) -> str:
    return desk.open("campaigns_run_change", run.pk)


def test_asking_now_without_an_app_says_what_to_do_first(desk: Desk, project: Project) -> None:
    address = reverse("admin:notifications_project_fetch_figures", args=[project.pk])
    assert desk.client.get(address).status_code == 200
    reply = desk.confirm("notifications_project_fetch_figures", project.pk)
    assert "Give the Android app ID first" in reply.content.decode()
