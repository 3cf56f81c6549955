"""A test leaves no trace where anything is counted: no run, no figure, no report, no device."""

from __future__ import annotations

from typing import Any

import pytest
from django.apps import apps

from campaigns import tasks
from campaigns.alerts.tasks import evaluate_alerts
from campaigns.figures import store_figures
from campaigns.sending import sending
from campaigns.test_sends.models import DeviceTest, SentTest
from campaigns.test_sends.tasks import send_test
from campaigns.texts.template import Template
from notifications.people.project import Project
from notifications.postgres import clock
from notifications.staff.audit import AuditEntry
from notifications.staff.team import Role
from tests.admin.desk import Desk
from tests.api.caller import Caller
from tests.given.builders import make_campaign, make_people, make_run
from tests.roles.people import logged_in
from tests.servers.fcm import Fcm
from tests.test_sends.trying import answered, make_tester

pytestmark = pytest.mark.django_db
ITS_OWN = {SentTest, DeviceTest, AuditEntry}


@pytest.fixture
def desk(project: Project) -> Desk:
    return Desk(logged_in(Role.EDITOR))


def everything() -> dict[str, list[Any]]:
    """Every row there is, but for a test's own and the trail of who asked."""
    models = (*apps.get_app_config("campaigns").get_models(),
              *apps.get_app_config("notifications").get_models())  # fmt: skip
    return {
        model.__name__: sorted(map(str, model._base_manager.values_list()))
        for model in models
        if model not in ITS_OWN
    }


def try_everything(desk: Desk, project: Project) -> None:
    """Accepted, dead, skipped and refused, of a template and of a campaign."""
    make_tester(project)
    make_tester(project, "dead-1:APA91b")
    make_tester(project, attributes={})
    campaign = make_campaign(project)
    before = everything()
    desk.post("campaigns_campaign_test", campaign.pk, **answered())
    template: Template = campaign.template
    about = {"settled_project": str(project.pk), "title": template.title, "body": template.body}
    desk.post("campaigns_template_test", **about, **answered())
    for test in SentTest.objects.all():
        send_test(test.pk)
    assert DeviceTest.objects.count() == 6
    assert not DeviceTest.objects.filter(status="waiting").exists()
    assert everything() == before


def test_no_other_row_is_written_or_changed(project: Project, desk: Desk, fcm: Fcm) -> None:
    make_people(project, 2)
    run = make_run(project)
    sending.send(run.pk, 1, run.epoch)
    try_everything(desk, project)


def test_results_and_figures_say_the_same_after_it(project: Project, desk: Desk, fcm: Fcm) -> None:
    make_people(project, 2)
    run = make_run(project)
    sending.send(run.pk, 1, run.epoch)
    tasks.advance(run_id=run.pk)
    call = Caller(project)
    pages = ("runs", f"runs/{run.pk}", f"runs/{run.pk}/funnel", f"runs/{run.pk}/breakdown",
             f"runs/{run.pk}/deliveries", "messages", "alerts")  # fmt: skip
    before = [call.get(page).json() for page in pages]
    try_everything(desk, project)
    evaluate_alerts()
    store_figures.keep_figures(now=clock.now())
    assert [call.get(page).json() for page in pages] == before
