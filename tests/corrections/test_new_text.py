"""Another text for whoever still waits: what it says, whom it costs, and what else says it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from campaigns import control
from campaigns.corrections.change_running_text import NewText, NotChanged, WouldSkip
from campaigns.engine import engine
from campaigns.planning import schedule
from campaigns.runs.revisions.revision import ChangedMeanwhile, RunRevision, content_of
from campaigns.runs.run import Run
from campaigns.sending import sending
from campaigns.texts.revision import newest
from campaigns.texts.snippets.snippet import Snippet
from campaigns.texts.template import Template
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.given.builders import (
    make_campaign,
    make_contact,
    make_device,
    make_people,
    make_run,
    make_scheduled_run,
    make_snippet,
)
from tests.given.by_hand import work
from tests.given.runs import NOON, cancelled, doubtful

WRONG = {"title": "Seventy per cent off", "body": "Today", "link": "https://shop.example/wrong"}
RIGHT = {"title": "Seven per cent off"}


@pytest.fixture
def run(project: Project) -> Run:
    make_people(project, 2)
    return make_run(project, template={**WRONG, "locales": {"ko": {"title": "70%"}}})


def change(run: Run, texts: dict[str, Any] | None = None, **more: Any) -> int:
    new = NewText(more.pop("revision", run.revision), texts or RIGHT, **more)
    return control.change_text(run, new=new, by="user:alice")


def test_only_what_is_named_reads_differently_and_the_launch_stays_as_it_was(run: Run) -> None:
    launched = dict(run.content)
    assert change(run, {**RIGHT, "locales": {"ko": {"link": "https://shop.example/ko"}}}) == 2

    run.refresh_from_db()
    now = content_of(run)
    assert (run.revision, run.content) == (2, launched)
    assert (now["title"], now["body"]) == (RIGHT["title"], WRONG["body"])
    assert now["locales"] == {"ko": {"title": "70%", "link": "https://shop.example/ko"}}
    assert now["template"] == launched["template"]
    entry = AuditEntry.objects.get(action="changed the text of")
    assert (entry.actor, entry.detail["revision"]) == ("user:alice", 2)
    assert entry.detail["fields"] == ["title", "link"]


def test_of_two_who_change_it_at_once_the_second_is_told_to_look_again(run: Run) -> None:
    other = Run.objects.get(pk=run.pk)
    change(run)
    with pytest.raises(ChangedMeanwhile, match="Somebody changed its text in the meantime"):
        change(other, {"title": "Mine"})
    with pytest.raises(ChangedMeanwhile):
        change(Run.objects.get(pk=run.pk), {"title": "Mine"}, revision=1)
    assert content_of(Run.objects.get(pk=run.pk))["title"] == RIGHT["title"]
    assert RunRevision.objects.count() == 1


@pytest.mark.parametrize(
    ("texts", "field"),
    [
        ({"title": "Hi {{ first_name"}, "title"),
        ({"body": "{% for x in y %}{% endfor %}"}, "body"),
        ({"link": "javascript:alert(1)"}, "link"),
        ({"locales": {"ko": {"title": "{{"}}}, "locales"),
        ({"title": ""}, "title"),
        ({"title": "x" * 501}, "title"),
    ],
)
def test_a_text_that_cannot_be_sent_is_refused_at_its_field(
    run: Run, texts: dict[str, Any], field: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        change(run, texts)
    assert field in refused.value.message_dict
    run.refresh_from_db()
    assert run.revision == 1 and not RunRevision.objects.exists()


def test_a_text_that_says_the_same_is_refused(run: Run) -> None:
    with pytest.raises(ValidationError, match="It says this already"):
        change(run, {"title": WRONG["title"]})


def test_a_text_that_fcm_would_refuse_for_everybody_is_refused(project: Project) -> None:
    make_device(make_contact(project, attributes={"long": "x" * 5_000}))
    run = make_run(project, template=WRONG)
    with pytest.raises(NotChanged, match="FCM would reject it for every person checked"):
        change(run, {"body": "{{ long }}"})


@pytest.mark.parametrize("given", [cancelled, doubtful])
def test_of_a_run_that_has_ended_nothing_is_changed(project: Project, given: Any) -> None:
    run = given(project)
    with pytest.raises(Run.InvalidMove, match="run cannot change its text"):
        change(run)
    assert not RunRevision.objects.exists()


def test_a_run_that_ends_while_somebody_writes_keeps_its_text(run: Run) -> None:
    written_over = Run.objects.get(pk=run.pk)
    control.cancel(run, by="user:bob")
    with pytest.raises(Run.InvalidMove, match="cancelled run cannot change its text"):
        change(written_over)


def test_where_nobody_waits_any_more_it_is_said_so(run: Run, fcm: object) -> None:
    sending.send(run.pk, 1, run.epoch)
    with pytest.raises(NotChanged, match=f"Nobody waits any more in run {run.pk}"):
        change(Run.objects.get(pk=run.pk))


def test_a_paused_run_and_one_that_waits_for_its_time_say_it_to_everybody(
    project: Project, fcm: object
) -> None:
    make_people(project, 2)
    scheduled = make_scheduled_run(project, NOON, template=WRONG)
    assert change(scheduled) == 2
    control.pause(scheduled, by="user:alice")
    assert change(Run.objects.get(pk=scheduled.pk), {"title": "Again"}) == 3


def test_a_revision_is_never_changed_by_anybody(run: Run) -> None:
    change(run)
    with pytest.raises(DatabaseError, match="never changed"), transaction.atomic():
        RunRevision.objects.update(content={})
    with connection.cursor() as cursor:
        cursor.execute("SELECT content ->> 'title' FROM campaigns_runrevision")
        assert cursor.fetchone() == (RIGHT["title"],)


# --- Whom it would skip ---------------------------------------------------------------------------


def test_who_lacks_a_value_that_the_new_text_asks_for_is_counted_before(project: Project) -> None:
    for city in ("Seoul", "Busan", None):
        make_device(make_contact(project, attributes={"city": city} if city else {}))
    run = make_run(project, template=WRONG)
    asked = {"body": "Today in {{ city }}"}
    with pytest.raises(WouldSkip) as refused:
        change(run, asked)
    skips = refused.value.skips
    assert (skips.devices, skips.before, skips.names, skips.exact) == (1, 0, ["city"], True)
    said = "1 of those waiting would be skipped for lack of “city”. With the text as it is now: 0."
    assert str(refused.value) == said
    assert change(run, asked, accept_skips=True) == 2


def test_only_those_who_wait_are_counted_and_in_the_language_they_read(
    project: Project, fcm: object
) -> None:
    for number in range(4):
        make_device(make_contact(project, locale="ko" if number < 3 else "en", attributes={}))
    run = make_run(project, template={**WRONG, "locales": {"ko": {"title": "70%"}}})
    asked = {"locales": {"ko": {"title": "{{ city }}"}}}
    with pytest.raises(WouldSkip) as refused:
        change(run, asked)
    assert refused.value.skips.devices == 3
    sending.send(run.pk, 1, run.epoch)  # nobody waits
    with pytest.raises(NotChanged, match="Nobody waits"):
        change(Run.objects.get(pk=run.pk), asked)


def test_a_text_that_skips_no_more_than_the_old_one_asks_nobody(project: Project) -> None:
    make_people(project, 2)
    run = make_run(project, template={**WRONG, "title": "{{ city }}, today"})
    assert change(run, {"title": "{{ city }}, tomorrow"}) == 2


def test_before_its_recipients_are_chosen_it_is_counted_of_those_who_would_be(
    project: Project,
) -> None:
    make_people(project, 3)
    run = make_scheduled_run(project, NOON, template=WRONG)
    with pytest.raises(WouldSkip) as refused:
        change(run, {"title": "{{ city }}"})
    assert refused.value.skips.devices == 3


# --- Snippets -------------------------------------------------------------------------------------


def test_its_snippets_are_frozen_anew(project: Project) -> None:
    make_people(project, 1)
    snippet = make_snippet(project, "hours", "9 to 5")
    run = make_run(project, template={**WRONG, "body": "Open {{ snippet.hours }}"})
    Snippet.objects.filter(pk=snippet.pk).update(text="10 to 6")

    assert change(run, {"title": WRONG["title"]}) == 2, "the snippet alone reads differently"

    said = content_of(Run.objects.get(pk=run.pk))["snippets"]["hours"]["text"]
    assert (said, run.content["snippets"]["hours"]["text"]) == ("10 to 6", "9 to 5")


# --- For next times -------------------------------------------------------------------------------


@pytest.fixture
def daily(project: Project) -> Run:
    """Today's run of a series, under way; tomorrow's waits."""
    make_people(project, 1)
    due = timezone.now().replace(second=0, microsecond=0) + timedelta(minutes=1)
    campaign = make_campaign(
        project, template=WRONG, schedule_kind="recurring", repeat="daily", at=due
    )
    today = control.launch(campaign, by="user:alice", now=timezone.now())
    later = due + timedelta(seconds=1)
    schedule.start_due(later)
    schedule.plan_series(later)
    engine.advance(today.pk, now=later)
    today.refresh_from_db()
    assert today.state == "sending"
    return today


def tomorrow(today: Run) -> Run:
    return Run.objects.exclude(pk=today.pk).get(campaign=today.campaign_id)


def test_the_next_run_of_a_series_says_it_only_if_that_was_asked_for(daily: Run) -> None:
    change(daily)
    assert content_of(tomorrow(daily))["title"] == WRONG["title"]
    daily.refresh_from_db()
    change(daily, {"title": "Once more"}, next_runs=True)
    assert content_of(tomorrow(daily))["title"] == WRONG["title"], "it says something else by now"


def test_the_next_runs_of_a_series_say_it_and_those_that_follow_them(daily: Run) -> None:
    change(daily, next_runs=True)
    later = tomorrow(daily)
    assert (later.revision, content_of(later)["title"]) == (2, RIGHT["title"])
    assert later.content["title"] == WRONG["title"]

    at = later.scheduled_at + timedelta(seconds=1)
    work(daily)
    schedule.start_due(at)
    (day_after,) = schedule.plan_series(at)
    assert (day_after.revision, day_after.content["title"]) == (1, RIGHT["title"])
    assert AuditEntry.objects.filter(action="changed the text of").count() == 2


def test_the_template_takes_over_what_changed_and_nothing_else(run: Run) -> None:
    template = Template.objects.get(pk=run.content["template"])
    Template.objects.filter(pk=template.pk).update(body="Edited since")
    change(run, in_template=True)
    template.refresh_from_db()
    assert (template.title, template.body) == (RIGHT["title"], "Edited since")
    assert newest(template).by == "user:alice"
    entry = AuditEntry.objects.get(action="changed")
    assert entry.detail["fields"] == ["title"]


def test_a_template_that_is_not_asked_for_stays(run: Run) -> None:
    change(run)
    assert Template.objects.get(pk=run.content["template"]).title == WRONG["title"]
