"""Lists tell what one opens a row for: sizes with their age, texts as read, shares, plain words."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from campaigns.audiences.audience import Audience
from campaigns.runs.run import Run
from notifications.people.project import Project
from notifications.postgres import budget
from notifications.staff import audit
from tests.admin.desk import Desk, text_of
from tests.given.builders import make_audience, make_contact, make_people, make_run, make_template

pytestmark = pytest.mark.django_db
LIST = "campaigns_audience_changelist"


def test_an_audience_is_counted_by_a_click_and_kept_with_its_age(
    desk: Desk, project: Project
) -> None:
    make_people(project, 3)
    audience = make_audience(project, rules={"all": []})
    with CaptureQueriesContext(connection) as asked:
        assert "not counted yet" in desk.open(LIST)
    assert not [query for query in asked if "notifications_device" in query["sql"]]
    assert "3 people, 3 devices counted a moment ago" in text_of(
        desk.post("audience_size", audience.pk)
    )
    make_people(project, 2)
    assert "3 people, 3 devices counted" in desk.open(LIST)  # as it was then
    assert "5 people, 5 devices" in text_of(desk.post("audience_size", audience.pk))


def test_the_size_of_other_rules_is_not_shown(desk: Desk, project: Project) -> None:
    make_people(project, 1)
    audience = make_audience(project, rules={"all": []})
    desk.post("audience_size", audience.pk)
    audience.refresh_from_db()
    audience.rules = {"field": "locale", "op": "eq", "value": "ko"}
    audience.save()
    assert "not counted yet" in desk.open(LIST)


def test_a_count_on_the_form_is_kept_for_the_list_once_it_is_saved(
    desk: Desk, project: Project
) -> None:
    make_people(project, 2)
    audience = make_audience(project, rules={"all": []})
    form = {"project": project.pk, "audience": audience.pk, "kind": "rules"}
    korean = '{"field": "locale", "op": "eq", "value": "ko"}'
    desk.post("audience_count", **form, rules=korean)  # not saved
    assert Audience.objects.get().size is None
    desk.post("audience_count", **form, rules='{"all": []}')
    assert "2 people, 2 devices counted" in desk.open(LIST)


def test_the_list_says_that_many_are_counting_and_keeps_what_it_knew(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    audience = make_audience(project)
    monkeypatch.setattr(budget, "AT_ONCE", 0)
    assert "Too many counts are running" in text_of(desk.post("audience_size", audience.pk))
    assert Audience.objects.get().size is None


def test_nobody_counts_an_audience_of_another_project(desk: Desk, project: Project) -> None:
    other = make_audience(Project.objects.create(slug="other", name="Other"))
    desk.go_to(project)
    assert desk.post("audience_size", other.pk).status_code == 409


def test_a_template_is_listed_as_somebody_reads_it(desk: Desk, project: Project) -> None:
    make_contact(project, attributes={"first_name": "Ada"})
    make_template(project, title="Hi {{ first_name }}", body="{{ city }}, {{ x | default: 'you' }}")
    text = desk.open("campaigns_template_changelist")
    assert "Hi Ada ‹city›, you" in text and "{{" not in text


def test_runs_and_campaigns_are_listed_with_the_share_accepted(
    desk: Desk, project: Project
) -> None:
    run = make_run(project)
    Run.objects.filter(pk=run.pk).update(
        planned=200, accepted=190, rejected=10, started_at=timezone.now()
    )
    assert "190 of 200 (95 %)" in desk.open("campaigns_run_changelist")
    assert "95 %" in desk.open("campaigns_campaign_changelist")


def test_a_form_has_one_save_and_one_save_and_stay(desk: Desk, project: Project) -> None:
    for page in ("campaigns_audience_add", "notifications_contact_add", "campaigns_template_add"):
        text = desk.open(page)
        assert "Save and stay" in text
        assert "Save and add another" not in text and "Save and continue" not in text


def test_the_trail_says_whose_password_was_changed(desk: Desk, project: Project) -> None:
    bob = User.objects.create_user("bob")
    audit.record("user:ada", "set a password", bob, project=None)
    audit.record("user:ada", "changed", bob, project=None, fields=["password1", "password2"])
    audit.record("user:ada", "created", bob, project=None, fields=["username", "password1"])
    text = desk.open("notifications_auditentry_changelist")
    assert text.count("changed the password of") == 2
    assert "password1" not in text and "fields:" not in text
