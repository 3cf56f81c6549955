"""The text of one variant is changed while its run is under way: only who still waits for that one
reads the new text."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from campaigns import control
from campaigns.audiences.lists import filling
from campaigns.corrections import draft_correction
from campaigns.corrections.change_running_text import NewText
from campaigns.engine import engine
from campaigns.runs import series
from campaigns.runs.claiming import Claim, Opened
from campaigns.runs.ledger import Delivery
from campaigns.runs.revisions.revision import content_of, texts_of
from campaigns.runs.run import Run
from campaigns.runs.variants.group import REST
from campaigns.runs.variants.variant import as_launched
from campaigns.sending import message_settings, sending
from notifications.people.project import Project
from tests.admin.desk import Desk, messages_of, text_of
from tests.api.caller import Caller
from tests.given.builders import make_people
from tests.given.by_hand import work
from tests.servers.fcm import Fcm
from tests.variants.shared import CONTROL, TITLES, groups_by_seq, make_split, titles_read

A, B = 0, 1
NEW = "Text B, put right"


def launched(project: Project, **values: Any) -> Run:
    run = control.launch(make_split(project, **values), by="user:alice", now=timezone.now())
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    return run


def change(run: Run, title: str = NEW, variant: int = B, **asked: Any) -> int:
    run = Run.objects.get(pk=run.pk)
    new = NewText(run.revision, {}, others={variant: {"title": title}}, accept_skips=True, **asked)
    return control.change_text(run, new=new, by="user:alice")


@pytest.fixture
def before_second_window(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], None]:
    """Somebody does something when a first window has left, and the second is rendered."""

    def do(deed: Callable[[], Any]) -> None:
        open_window, opened = Claim.open_window, [0]

        def after_the_deed(claim: Claim, *args: Any) -> Opened | None:
            opened[0] += 1
            if opened[0] == 2:
                deed()
            return open_window(claim, *args)

        monkeypatch.setattr(Claim, "open_window", after_the_deed)

    return do


def test_only_who_waits_for_that_variant_reads_the_new_text(
    project: Project, fcm: Fcm, before_second_window: Callable[..., None]
) -> None:
    make_people(project, 350)
    run = launched(project, control_percent=20)
    before_second_window(lambda: change(run))
    sending.send(run.pk, 1, run.epoch)

    read, group = titles_read(fcm, run), groups_by_seq(run)
    rows = dict(Delivery.objects.filter(run_id=run.pk).values_list("seq", "revision"))
    said = {(A, 1): TITLES[A], (A, 2): TITLES[A], (B, 1): TITLES[B], (B, 2): NEW}
    assert {seq: [said[group[seq], rows[seq]]] for seq in read} == read
    assert {(group[seq], rows[seq]) for seq in read} == {*said}, "each kind is there"
    assert {seq for seq in group if group[seq] != CONTROL} == {*read}
    run.refresh_from_db()
    assert content_of(run, 1, variant=B)["title"] == TITLES[B], "what was sent stays on record"


def test_two_variants_changed_at_once_each_read_their_own(
    project: Project, fcm: Fcm, before_second_window: Callable[..., None]
) -> None:
    make_people(project, 350)
    run = launched(project)
    both = NewText(1, {"title": "New A"}, others={B: {"title": "New B"}}, accept_skips=True)
    before_second_window(lambda: control.change_text(run, new=both, by="user:alice"))
    sending.send(run.pk, 1, run.epoch)

    run = Run.objects.get(pk=run.pk)
    assert run.revision == 2, "one revision for both"
    read, group = titles_read(fcm, run), groups_by_seq(run)
    rows = dict(Delivery.objects.filter(run_id=run.pk).values_list("seq", "revision"))
    said = {(A, 1): TITLES[A], (A, 2): "New A", (B, 1): TITLES[B], (B, 2): "New B"}
    assert {seq: [said[group[seq], rows[seq]]] for seq in read} == read


def test_the_rest_of_a_trial_reads_the_newest_text_of_the_variant_that_was_chosen(
    project: Project,
) -> None:
    make_people(project, 60)
    run = launched(project, first_percent=50, first_least=1, winner_by="opened")
    change(run)
    run = Run.objects.get(pk=run.pk)
    Run.objects.filter(pk=run.pk).update(winner=B)
    run.refresh_from_db()
    assert message_settings.of_run(run)[REST].content["title"] == NEW
    assert message_settings.of_run(run)[A].content["title"] == TITLES[A]


def test_a_variant_that_the_run_lacks_is_refused_by_its_letter(project: Project) -> None:
    make_people(project, 4)
    run = launched(project)
    with pytest.raises(ValidationError, match=f"Run {run.pk} has no variant D"):
        change(run, variant=3)
    run.refresh_from_db()
    assert run.revision == 1


def test_who_would_be_skipped_is_counted_among_the_readers_of_that_variant(
    project: Project,
) -> None:
    make_people(project, 40)
    run = launched(project)
    of_b = list(groups_by_seq(run).values()).count(B)
    new = NewText(1, {}, others={B: {"title": "Rain in {{ city }}"}})
    with pytest.raises(Run.InvalidMove, match=f"^{of_b} of those waiting would be skipped"):
        control.change_text(run, new=new, by="user:alice")


def ask_to_change(run: Run, title: str, variant: str = "B") -> tuple[int, str]:
    changed = Caller(run.project).post(
        f"runs/{run.pk}/change-text", {"revision": 1, "variant": variant, "title": title}
    )
    return changed.status_code, str(changed.json().get("detail", ""))


@pytest.mark.parametrize("variant", [A, B])
def test_the_rest_of_an_open_trial_counts_among_who_would_be_skipped(
    project: Project, variant: int
) -> None:
    make_people(project, 60)
    run = launched(project, first_percent=50, first_least=1, winner_by="opened")
    groups = list(groups_by_seq(run).values())
    waiting = groups.count(variant) + groups.count(REST)
    status, said = ask_to_change(run, "Rain in {{ city }}", "AB"[variant])
    assert (status, said.split(" for ")[0]) == (409, f"{waiting} of those waiting would be skipped")
    run.refresh_from_db()
    assert run.revision == 1


def test_the_rest_of_a_decided_trial_counts_only_for_the_text_that_it_gets(
    project: Project,
) -> None:
    make_people(project, 60)
    run = launched(project, first_percent=50, first_least=1, winner_by="opened")
    Run.objects.filter(pk=run.pk).update(winner=A)
    of_b = list(groups_by_seq(run).values()).count(B)
    status, said = ask_to_change(run, "Rain in {{ city }}")
    assert (status, said.split(" for ")[0]) == (409, f"{of_b} of those waiting would be skipped")


def test_a_trial_that_has_not_begun_counts_its_rest_for_each_variant(project: Project) -> None:
    make_people(project, 200)
    trial = make_split(
        project,
        first_percent=20,
        first_least=1,
        winner_by="opened",
        schedule_kind="at",
        at=timezone.now() + timedelta(days=1),
    )
    run = control.launch(trial, by="user:alice", now=timezone.now())
    status, said = ask_to_change(run, "Rain in {{ city }}")
    assert (status, "about 180 of those waiting would be skipped" in said) == (409, True), said


def daily(project: Project) -> Run:
    campaign = make_split(
        project, schedule_kind="recurring", repeat="daily", at=datetime(2031, 5, 7, tzinfo=UTC)
    )
    return control.launch(campaign, by="user:alice", now=timezone.now())


def test_the_next_runs_of_a_series_say_it_too_where_that_is_asked(project: Project) -> None:
    first = daily(project)
    second = series.repeated(first, datetime(2031, 5, 8, tzinfo=UTC))
    change(first, next_runs=True)
    first.refresh_from_db()
    second.refresh_from_db()
    third = series.repeated(first, datetime(2031, 5, 9, tzinfo=UTC))
    titles = [{n: said["title"] for n, said in texts_of(run).items()} for run in (second, third)]
    assert titles == [{A: TITLES[A], B: NEW}] * 2
    fourth = series.repeated(third, datetime(2031, 5, 10, tzinfo=UTC))
    assert texts_of(fourth)[B]["title"] == NEW
    assert as_launched(first)[B]["title"] == TITLES[B]


def test_the_template_of_the_variant_says_it_too_where_that_is_asked(project: Project) -> None:
    make_people(project, 4)
    run = launched(project)
    change(run, in_template=True)
    other = run.campaign.variants.get().template
    other.refresh_from_db()
    run.campaign.template.refresh_from_db()
    assert (other.title, run.campaign.template.title) == (NEW, TITLES[A])


def test_a_correction_goes_to_who_got_that_variant_and_has_its_newest_text(
    project: Project, fcm: Fcm, before_second_window: Callable[..., None]
) -> None:
    make_people(project, 350)
    run = launched(project)
    before_second_window(lambda: change(run))
    run = work(run)
    made = control.correct(
        run, text=draft_correction.EVERY, revisions=[1], variant=B, by="user:alice"
    )
    assert made.template.title == NEW
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE campaigns_recipient, campaigns_delivery")  # as autovacuum would
    assert not filling.work(made.audience.pk, seconds=600), "there is more to do"
    rows = dict(Delivery.objects.filter(run_id=run.pk).values_list("seq", "revision"))
    wrong = [seq for seq, group in groups_by_seq(run).items() if (group, rows[seq]) == (B, 1)]
    assert made.audience.members.count() == len(wrong) > 0


# --- Its doors -----------------------------------------------------------------------------------


def test_the_page_changes_both_variants_in_one_look(desk: Desk, project: Project) -> None:
    make_people(project, 4)
    run = launched(project)
    page = "campaigns_run_change_text"
    asked = text_of(desk.client.get(reverse(f"admin:{page}", args=[run.pk])))
    assert "Variant A · Title" in asked and "Variant B · Title" in asked
    written = {
        f"{whose}main.{name}": said
        for whose, texts in (("", {"title": "New A"}), ("B.", {"title": NEW}))
        for name, said in {"title": "", "body": "x", "image": "", "link": "", **texts}.items()
    }
    reply = desk.confirm(page, run.pk, revision="1", **written)
    looked = text_of(reply)
    assert "This is what changes" in looked and "Variant A" in looked and "Variant B" in looked
    mark = reply.content.decode().split('name="looked_at" value="')[1].split('"')[0]
    reply = desk.confirm(page, run.pk, revision="1", looked_at=mark, **written)
    assert messages_of(reply) == [f"People who still wait in run {run.pk} get the new text."]
    run = Run.objects.get(pk=run.pk)
    assert {n: said["title"] for n, said in texts_of(run).items()} == {A: "New A", B: NEW}
    shown = text_of(desk.client.get(reverse("admin:campaigns_run_change", args=[run.pk])))
    assert "Who got which text" in shown and "2 · Variant A, Variant B" in shown


def test_a_correction_of_outdated_texts_leaves_out_variants_that_did_not_change(
    desk: Desk, project: Project, fcm: Fcm, before_second_window: Callable[..., None]
) -> None:
    make_people(project, 350)
    run = launched(project)
    before_second_window(lambda: change(run))
    work(run)
    before = Delivery.objects.filter(run_id=run.pk, revision=1, status="accepted")
    b_seqs = [seq for seq, group in groups_by_seq(run).items() if group == B]
    outdated = before.filter(seq__in=b_seqs).count()
    assert 0 < outdated < before.count()

    asked = {"text": draft_correction.EVERY, "variant": "", "revision": "older"}
    desk.confirm("campaigns_run_correct", run.pk, **asked)

    draft = run.corrections.get()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE campaigns_recipient, campaigns_delivery")  # as autovacuum would
    assert not filling.work(draft.audience.pk, seconds=600), "there is more to do"
    assert (draft.audience.members.count(), draft.template.title) == (outdated, NEW)
