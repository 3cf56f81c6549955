"""A wrong text was sent: a draft with it, to be put right, takes its place on the phones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import timezone

from campaigns import control, tasks
from campaigns.audiences.lists import filling
from campaigns.engine import engine, forgetting
from campaigns.planning import launch_problems
from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from campaigns.sending import sending
from campaigns.texts.template import Template
from notifications import dispatch
from notifications.keys.credentials import ServiceAccount
from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.admin.desk import Desk, text_of
from tests.given.builders import make_contact, make_device, make_people, make_run
from tests.given.runs import ended_each_way, on_list, paused
from tests.servers.fcm import Fcm

WRONG = {"title": "Seventy per cent off", "body": "Today"}
PLATFORMS = ("android", "ios", "web")


@pytest.fixture
def shop(project: Project, fcm: Fcm) -> Iterator[Project]:
    """One that sends."""
    ServiceAccount.store(project, fcm.service_account)
    yield project
    dispatch.close()


def sent(run: Run) -> Run:
    for chunk in run.chunks.all():
        sending.send(run.pk, chunk.number, run.epoch)
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    assert run.state == "finished", f"{run.cause} {run.detail}"
    return run


def launched(campaign: Campaign) -> Run:
    run = control.launch(campaign, by="user:alice", now=timezone.now())
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    return sent(run)


def corrected(desk: Desk, run: Run, **values: Any) -> Campaign:
    reply = desk.confirm("campaigns_run_correct", run.pk, **values)
    made = Campaign.objects.latest("pk")
    assert made.corrects == run, text_of(reply)
    return made


def tags_by_address(fcm: Fcm) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for record in fcm.witness():
        found[record["address"]].append(record["tag"])
    return found


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"android": {"tag": "a"}, "ios": {"collapse_id": "i"}, "web": {"tag": "{{ external_id }}"}},
    ],
    ids=["our tags", "its own tags"],
)
def test_a_correction_carries_the_tags_of_what_it_corrects_to_the_same_phones(
    desk: Desk, shop: Project, fcm: Fcm, options: dict[str, Any]
) -> None:
    for platform in PLATFORMS:
        make_device(make_contact(shop, external_id=platform), platform=platform)
    wrong = sent(make_run(shop, name="Spring", template={**WRONG, "options": options}))

    first = corrected(desk, wrong)
    Template.objects.filter(pk=first.template_id).update(title="Seven per cent off", options={})
    again = corrected(desk, launched(Campaign.objects.get(pk=first.pk)))
    launched(again)

    tags = tags_by_address(fcm)
    assert len(tags) == len(PLATFORMS)
    for each in tags.values():
        assert len(each) == 3 and len({*each}) == 1 and each[0]
    if not options:
        assert {each[0] for each in tags.values()} == {f"carillon-{wrong.pk}"}
    titles = [record["title"] for record in fcm.witness()]
    assert titles.count(WRONG["title"]) == 3 and titles.count("Seven per cent off") == 6


def test_a_tag_that_only_the_correction_has_is_left_out_so_that_it_replaces(
    desk: Desk, shop: Project, fcm: Fcm
) -> None:
    make_device(make_contact(shop))
    made = corrected(desk, sent(make_run(shop, template=WRONG)))
    Template.objects.filter(pk=made.template_id).update(options={"android": {"tag": "other"}})
    launched(Campaign.objects.get(pk=made.pk))
    (each,) = tags_by_address(fcm).values()
    assert len({*each}) == 1


def test_a_correction_goes_to_whoever_got_it_even_where_the_holdout_grew_since(
    desk: Desk, shop: Project, fcm: Fcm
) -> None:
    make_people(shop, 40)
    made = corrected(desk, sent(make_run(shop, template=WRONG)))
    Project.objects.filter(pk=shop.pk).update(holdout_percent=50)
    Template.objects.filter(pk=made.template_id).update(title="Seven per cent off")

    review = desk.open("campaign_review", made.pk)
    assert "In the holdout" not in review

    run = launched(Campaign.objects.get(pk=made.pk))
    assert (run.accepted, run.skipped) == (40, 0)


def test_the_dialog_counts_who_has_it_in_the_inbox_alone(desk: Desk, shop: Project) -> None:
    make_people(shop, 2)
    make_device(make_contact(shop, external_id="deaf"), "dead-1:APA91b")
    run = sent(make_run(shop, template=WRONG, inbox=True))

    said = desk.open("campaigns_run_correct", run.pk)

    assert "3 people got it, or may have. Among them is everyone who has it in the inbox." in said
    assert "2 people can be reached now." in said


def test_a_correction_goes_to_those_who_got_it_or_may_have(desk: Desk, project: Project) -> None:
    run = ended_each_way(project)
    Template.objects.filter(pk=run.campaign.template_id).update(title="Changed since")

    said = desk.open("campaigns_run_correct", run.pk)
    assert "3 people got it, or may have. Of 1 of them nobody knows." in said
    assert "3 people can be reached now." in said
    assert "FCM takes nothing back" in said and f"both carry the tag carillon-{run.pk}" in said
    assert Campaign.objects.count() == 1  # looking made nothing

    made = corrected(desk, run)
    assert (made.name, made.audience.name) == ("Spring (correction)", f"Got run {run.pk}")
    assert on_list(made.audience) == {"got", "one-of-two", "perhaps"}
    assert made.template.title == run.content["title"] != "Changed since"
    assert made.template.revisions.count() == 1
    assert not made.runs.exists()


def test_the_pages_of_both_lead_to_each_other_and_the_trail_tells_of_it(
    desk: Desk, project: Project
) -> None:
    run = ended_each_way(project)
    assert "Put a wrong text right" in desk.open("campaigns_run_change", run.pk)
    made = corrected(desk, run)

    shown = desk.open("campaigns_run_change", run.pk)
    unsent = "A correction of its text is being written, and is not sent yet: Spring (correction)"
    assert unsent in shown and "made a correction of" in shown
    assert f"A correction of run {run.pk}" in desk.open("campaigns_campaign_change", made.pk)
    assert "It is being corrected already" in desk.open("campaigns_run_correct", run.pk)
    entry = AuditEntry.objects.get(action="made a correction of")
    assert entry.detail["correction"] == "Spring (correction)"
    created = AuditEntry.objects.filter(action="created", detail__corrects_run=run.pk)
    assert {one.subject_kind for one in created} == {"audience", "template", "campaign"}

    correcting = control.launch(made, by="user:alice", now=timezone.now())
    shown = desk.open("campaigns_run_change", correcting.pk)
    assert f"A correction: it takes the place of what run {run.pk} sent" in shown
    shown = desk.open("campaigns_run_change", run.pk)
    assert "Its text was wrong. See the correction: Spring (correction)" in shown


def test_only_those_who_read_one_of_its_texts_are_written_to_if_only_that_was_wrong(
    desk: Desk, shop: Project
) -> None:
    for name, locale in (("a", "ko"), ("b", "ko-KR"), ("c", "en"), ("d", "de"), ("e", "")):
        make_device(make_contact(shop, external_id=name, locale=locale))
    texts = {"locales": {"ko": {"title": "봄"}, "de": {"title": "Frühling"}}}
    run = sent(make_run(shop, name="Spring", template={**WRONG, **texts}))

    def whom(text: str) -> set[str]:
        return on_list(corrected(desk, run, text=text).audience)

    assert whom("ko") == {"a", "b"}
    assert whom("main") == {"c", "e"}
    assert whom("every") == {"a", "b", "c", "d", "e"}
    refused = desk.confirm("campaigns_run_correct", run.pk, text="fr")
    assert "Select a valid choice" in text_of(refused)


def test_the_dialog_counts_those_who_got_the_text_that_is_chosen(desk: Desk, shop: Project) -> None:
    for name, locale in (("a", "ko"), ("b", "ko-KR"), ("c", "en"), ("d", "de"), ("e", "")):
        make_device(make_contact(shop, external_id=name, locale=locale))
    texts = {"locales": {"ko": {"title": "봄"}, "de": {"title": "Frühling"}}}
    run = sent(make_run(shop, name="Spring", template={**WRONG, **texts}))

    def chosen(**values: str) -> str:
        said = desk.open("campaigns_run_correct", run.pk, **values)
        return said.partition(" got the text that is chosen below, or may have.")[0][-8:]

    assert chosen() == "5 people"
    assert chosen(text="ko") == "2 people"
    assert chosen(text="de") == "1 person"
    assert chosen(text="no such text") == "5 people"


def test_a_second_correction_of_a_run_has_a_name_of_its_own(desk: Desk, project: Project) -> None:
    run = ended_each_way(project)
    names = [corrected(desk, run).name for _ in range(3)]
    assert names == ["Spring (correction)", "Spring (correction 2)", "Spring (correction 3)"]


def test_before_and_after_the_launch_one_reads_how_many_have_the_wrong_text_in_the_inbox(
    desk: Desk, shop: Project
) -> None:
    make_people(shop, 2)
    make_device(make_contact(shop, external_id="deaf"), "dead-1:APA91b")
    made = corrected(desk, sent(make_run(shop, template=WRONG, inbox=True)))
    Template.objects.filter(pk=made.template_id).update(title="Seven per cent off")
    for page in ("campaign_review", "campaigns_campaign_launch"):
        assert "3 people have the wrong text there now." in desk.open(page, made.pk)

    run = control.launch(Campaign.objects.get(pk=made.pk), by="user:alice", now=timezone.now())
    assert "3 people still have the wrong one." in desk.open("campaigns_run_change", run.pk)
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    sent(run)
    shown = desk.open("campaigns_run_change", run.pk)
    assert "In the app's inbox 2 people have the right text." in shown
    assert "0 people still have the wrong one." in shown


def test_the_inbox_of_a_campaign_that_corrects_nothing_holds_no_wrong_text(
    desk: Desk, shop: Project
) -> None:
    make_people(shop, 2)
    run = sent(make_run(shop, template=WRONG, inbox=True))
    again = run.campaign.duplicate()
    assert "wrong text" not in desk.open("campaign_review", again.pk)
    assert "right text" not in desk.open("campaigns_run_change", run.pk)


def test_a_correction_is_refused_while_it_is_sent_and_where_nobody_got_it(
    desk: Desk, project: Project
) -> None:
    run = paused(project)
    assert "Change its text for those who still wait" in desk.open("campaigns_run_correct", run.pk)
    control.cancel(run, by="user:alice")
    engine.advance(run.pk, now=timezone.now())
    refused = desk.confirm("campaigns_run_correct", run.pk)
    assert "there is nothing to correct" in text_of(refused)
    assert "Send a correction" not in desk.open("campaigns_run_change", run.pk)


def test_a_correction_of_a_run_whose_recipients_were_removed_is_refused(
    desk: Desk, project: Project
) -> None:
    run = ended_each_way(project)
    forgetting.forget(run, by="test", now=timezone.now())
    refused = desk.confirm("campaigns_run_correct", run.pk)
    assert "nobody knows who got it" in text_of(refused)
    assert not Campaign.objects.exclude(corrects=None).exists()


def test_the_dialog_says_where_nothing_can_be_replaced(desk: Desk, shop: Project) -> None:
    make_device(make_contact(shop))
    options = {"android": {"tag": ""}, "web": {"data_only": True}}
    run = sent(make_run(shop, template={**WRONG, "options": options}, inbox=True))
    said = desk.open("campaigns_run_correct", run.pk)
    assert "On Android, Web nothing can take its place" in said
    assert "In the app's inbox the correction replaces the wrong text" in said


def test_a_copy_of_a_correction_replaces_nothing_and_its_rest_does(
    desk: Desk, project: Project
) -> None:
    made = corrected(desk, ended_each_way(project))
    run = control.launch(made, by="user:alice", now=timezone.now())
    assert made.duplicate().corrects is None
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    control.cancel(run, by="user:alice")
    engine.advance(run.pk, now=timezone.now())
    desk.confirm("campaigns_run_rest", run.pk)
    assert Campaign.objects.latest("pk").corrects == made.corrects


def test_a_long_list_of_a_correction_is_filled_by_a_task(
    desk: Desk,
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    enqueued: list[int],
    django_capture_on_commit_callbacks: Any,
) -> None:
    run = ended_each_way(project)
    monkeypatch.setattr(filling, "PEOPLE_AT_ONCE", 1)
    monkeypatch.setattr(filling, "AT_ONCE_SECONDS", 0.0)
    with django_capture_on_commit_callbacks(execute=True):
        made = corrected(desk, run)
    assert enqueued == [made.audience_id]
    assert "still being filled" in launch_problems.problems(made, timezone.now())["audience"]
    while filling.unfinished():
        tasks.fill_list(made.audience_id)
    assert Contact.objects.filter(member__audience=made.audience_id).count() == 3
