"""The result answers “did it work?”: what they saw, why not all, what to do; then the rest."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from campaigns.engine import breakdowns
from campaigns.runs.reasons import Cause
from campaigns.runs.run import Run
from campaigns.runs.sums import Breakdown
from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.staff.team import TeamMember
from tests.admin.desk import Desk
from tests.given.builders import make_contact, make_device, make_people, make_run
from tests.given.runs import cancelled, ended


def opened(desk: Desk, run: Run) -> str:
    return desk.open("campaigns_run_change", run.pk)


def html(client: Client, page: str, run: Run, **query: Any) -> str:
    reply = client.get(reverse(f"admin:{page}", args=[run.pk]), query)
    assert reply.status_code == 200
    return reply.content.decode()


# --- The phone ------------------------------------------------------------------------------------

TEXT = {
    "title": "Hello {{ first_name }}",
    "locales": {"ko": {"title": "안녕하세요 {{ first_name }}"}, "de": {"title": "Hallo"}},
}


def test_the_phone_shows_the_text_as_a_recipient_read_it(desk: Desk, project: Project) -> None:
    make_device(make_contact(project, external_id="ada"), platform="ios")

    page = opened(desk, ended(make_run(project, template=TEXT))).partition("Technical")[0]

    assert "Hello Ada" in page and "As ada got it (iOS, en)" in page
    assert "{{" not in page


def test_each_language_there_was_is_shown_and_no_other(desk: Desk, project: Project) -> None:
    for locale in ("en", "en-GB", "ko"):
        make_device(make_contact(project, external_id=f"of-{locale}", locale=locale))

    page = opened(desk, ended(make_run(project, template=TEXT))).partition("Technical")[0]

    assert "Hello Ada" in page and "안녕하세요 Ada" in page and "Hallo" not in page
    assert "In ko" in page and "of-en-GB" not in page, "the same words are shown once"


def test_somebody_who_got_it_is_shown_before_somebody_who_did_not(
    desk: Desk, project: Project
) -> None:
    make_device(make_contact(project, external_id="bob", attributes={}))
    make_device(make_contact(project, external_id="ada"))
    run = ended(make_run(project, template=TEXT), bob=("skipped", "missing_value"))

    page = opened(desk, run)

    assert "As ada got it" in page and "bob" not in page


def test_a_text_that_nobody_could_get_says_why_and_is_not_shown_raw(
    desk: Desk, project: Project
) -> None:
    make_device(make_contact(project, external_id="bob", attributes={}))
    run = ended(make_run(project, template=TEXT), bob=("skipped", "missing_value"))

    page = opened(desk, run).partition("Technical")[0]

    assert "For bob it cannot be filled in." in page
    assert "No value for first_name" in page and "{{" not in page


def test_a_run_whose_recipients_were_erased_or_forgotten_still_opens(
    desk: Desk, project: Project
) -> None:
    make_people(project, 2)
    run = ended(make_run(project, template=TEXT))
    Run.objects.update(forgotten_at=timezone.now())
    assert "would read it" in opened(desk, run)
    Contact.objects.all().delete()
    assert "As it was sent" not in opened(desk, run)


def test_a_text_that_a_cap_younger_than_the_run_refuses_does_not_break_the_page(
    desk: Desk, project: Project
) -> None:
    make_people(project, 1)
    run = ended(make_run(project))
    Run.objects.update(content={**run.content, "title": "{{ a | nothing_of_the_kind }}"})
    assert "FCM accepted 1 of 1" in opened(desk, run)


# --- What to do next, and the rest ----------------------------------------------------------------


def test_an_ended_run_says_what_to_do_next_and_a_moving_one_does_not(
    desk: Desk, project: Project
) -> None:
    make_device(make_contact(project, external_id="bob"))
    run = make_run(project)
    assert "What to do next" not in opened(desk, run)

    page = html(desk.client, "campaigns_run_change", ended(run, bob=("rejected", "too_long")))

    next_steps = page.partition("What to do next")[2]
    assert f"/run/{run.pk}/deliveries/?status=missed" in next_steps
    assert "Compare with another run" not in next_steps, "there is none"


def test_the_share_of_an_ended_run_is_of_those_accepted(desk: Desk, project: Project) -> None:
    for name in ("ada", "bob"):
        make_device(make_contact(project, external_id=name))
    run = make_run(project)
    assert "0 % done" in opened(desk, run)

    page = opened(desk, ended(run, bob=("rejected", "too_long")))

    assert "50 % accepted" in page and "100 %" not in page


def two_of_whom_one_declined(project: Project, other: tuple[str, str]) -> Run:
    for name in ("ada", "bob", "cay"):
        make_device(make_contact(project, external_id=name))
    return ended(make_run(project), bob=("skipped", "unsubscribed"), cay=other)


def test_whoever_declined_is_no_refusal_and_lowers_no_share(desk: Desk, project: Project) -> None:
    run = two_of_whom_one_declined(project, ("accepted", ""))

    page = opened(desk, run)

    assert "FCM accepted 2 of 2: 100 %. 1 more was skipped: FCM was not asked for it." in page
    assert "100 % accepted" in page
    why_not, _, skipped = page.partition("Skipped: FCM was not asked for them")
    assert "FCM accepted everyone it was asked for." in why_not
    assert "This person does not want such messages" not in why_not
    assert "This person does not want such messages 1 33.3 %" in skipped
    assert "3 planned = 2 accepted + 0 rejected + 1 skipped" in page, "as the API counts"


def test_the_share_of_a_reason_is_of_those_it_is_about(desk: Desk, project: Project) -> None:
    page = opened(desk, two_of_whom_one_declined(project, ("rejected", "unregistered")))
    assert "FCM accepted 1 of 2: 50 %." in page
    assert "App uninstalled or address expired 1 50 %" in page
    assert "This person does not want such messages 1 33.3 %" in page


def test_every_page_has_the_same_share_of_those_fcm_was_asked_for(
    desk: Desk, project: Project
) -> None:
    run = two_of_whom_one_declined(project, ("rejected", "unregistered"))
    assert "1 of 2 (50 %)" in desk.open("campaigns_run_changelist")
    assert "50 %" in desk.open("campaigns_campaign_changelist")
    assert "1 of 2" in desk.open("index").partition("Recent runs")[2]
    groups = opened(desk, run).partition("Results by group")[2]
    assert "3 1 50 % 1 1 0" in groups.partition("Language")[0]


def test_a_run_of_which_everybody_declined_asked_for_nobody(desk: Desk, project: Project) -> None:
    make_device(make_contact(project, external_id="bob"))
    page = opened(desk, ended(make_run(project), bob=("skipped", "suppressed")))
    assert "Everyone was skipped, so FCM was not asked for anybody." in page
    assert "was accepted" not in page and "FCM accepted everyone" not in page


def test_a_run_says_when_it_ran_without_repeating_the_day_and_the_zone(
    desk: Desk, project: Project
) -> None:
    make_people(project, 1)
    run = ended(make_run(project))
    began = timezone.now().replace(year=2026, month=5, day=31, hour=3, minute=0, second=7)
    for lasts, said in (
        (timedelta(seconds=11), "31 May 2026, 12:00:07 – 12:00:18"),
        (timedelta(days=1), "31 May 2026, 12:00:07 – 1 Jun 2026, 12:00:07"),
    ):
        Run.objects.update(started_at=began, finished_at=began + lasts)
        pace = opened(desk, run).partition("Elapsed")[2]
        assert said in pace and f"{said} Asia" not in pace


def test_nobody_reads_that_it_took_0_seconds(desk: Desk, project: Project) -> None:
    make_people(project, 1)
    run = ended(make_run(project))
    Run.objects.update(finished_at=run.started_at)
    page = opened(desk, run)
    assert "Elapsed a moment" in page and not re.search(r"\b0 s\b", page)


@pytest.mark.parametrize("page", ["campaigns_run_change", "run_live"])
def test_a_cancelled_run_is_nowhere_whole_or_done(desk: Desk, project: Project, page: str) -> None:
    run = cancelled(project)
    said = [desk.open(page, run.pk), desk.open("campaigns_run_changelist"), desk.open("index")]
    for text in said:
        assert "Cancelled" in text
        about_it = text.partition("Why not accepted")[0]
        assert "100 %" not in about_it and "Done" not in text and "% done" not in text
    assert re.search(r"Cancelled 0 of \d+ accepted", said[0])
    assert "c-state-finished" not in html(desk.client, page, run)


# --- Technical, and who sees it -------------------------------------------------------------------


def viewer() -> Client:
    user = User.objects.create_user("vera", is_staff=True)
    TeamMember.objects.create(user=user, role="viewer")
    client = Client()
    client.force_login(user)
    return client


TECHNICAL = ("Technical", "Flower", "chunk", "Chunk", "Wave", "Fingerprint", "run-waves", "{{")


def test_a_viewer_sees_the_result_and_nothing_technical(project: Project, db: None) -> None:
    make_people(project, 2)
    run = ended(make_run(project))
    client = viewer()

    for page in ("campaigns_run_change", "run_live", "run_course"):
        text = re.sub(r"<script.*?</script>", "", html(client, page, run), flags=re.DOTALL)
        assert not [word for word in TECHNICAL if word in text], page
    assert "FCM accepted 2 of 2" in html(client, "campaigns_run_change", run)
    assert client.get(reverse("admin:run_chunk", args=[run.pk])).status_code == 403


def test_an_editor_finds_snapshot_waves_chunks_and_flower_folded(
    desk: Desk, project: Project
) -> None:
    make_people(project, 2)
    run = ended(make_run(project))

    page = html(desk.client, "campaigns_run_change", run)

    folded = page.partition('id="technical"')[2].partition("</details>")[0]
    assert " open" not in page.partition('id="technical"')[2].partition(">")[0]
    assert run.recipients_hash and run.recipients_hash in folded
    for word in ("Tasks in Flower", 'id="run-waves"', "chunk-grid", "{{ first_name }}"):
        assert word in folded and word not in page.partition('id="technical"')[0]


# --- For whom it went how -------------------------------------------------------------------------


def test_an_ended_run_is_cut_by_platform_language_zone_and_version(
    desk: Desk, project: Project
) -> None:
    make_device(make_contact(project, external_id="ada", timezone="Asia/Seoul"), platform="ios")
    make_device(make_contact(project, external_id="bob", locale="tlh"))
    run = ended(make_run(project), bob=("rejected", "too_long"))

    cut = opened(desk, run).partition("Results by group")[2].partition("Rate over time")[0]

    assert "iOS 1 1 100 % 0 0 0" in cut and "Android 1 0 0 % 1 0 0" in cut
    assert "English (en) 1 1" in cut and "tlh 1 0" in cut
    assert "Asia/Seoul 1 1" in cut and "UTC 1 0" in cut
    assert "App version" not in cut, "nobody's is known"


def test_the_page_asks_until_the_run_is_counted(desk: Desk, project: Project) -> None:
    make_people(project, 2)
    run = ended(make_run(project))
    Breakdown.objects.all().delete()

    waiting = html(desk.client, "run_breakdown", run)
    assert "Counting by platform" in waiting and "every 2s" in waiting

    breakdowns.count_next(run.pk)
    counted = html(desk.client, "run_breakdown", run)
    assert "every" not in counted and "Android" in counted


def test_the_count_comes_to_the_page_that_saw_the_end(desk: Desk, project: Project) -> None:
    make_people(project, 2)
    run = ended(make_run(project))
    live = html(desk.client, "run_live", run, seen="sending-0")
    assert 'id="run-breakdown"' in live and "Results by group" in live


def test_a_paused_runs_first_button_is_to_resume_it(desk: Desk, project: Project) -> None:
    make_people(project, 2)
    run = make_run(project)
    run.pause(Cause.BY_HAND)
    page = html(desk.client, "campaigns_run_change", run)
    assert re.findall(r'id="verb-(\w+)"', page)[0] == "resume"
    assert "c-button-main" in page.partition('id="verb-resume"')[0].rpartition("<a ")[2]


# --- Charts ---------------------------------------------------------------------------------------


def test_the_rate_lines_values_stand_in_a_table_too(desk: Desk, project: Project) -> None:
    make_people(project, 400)
    run = ended(make_run(project))
    began = run.started_at
    assert began
    chunk = run.chunks.get()
    for seconds in (0.5, 2.5):
        chunk.windows.create(
            run=run, attempt=1, seqs=list(range(200)), opened_at=began,
            settled_at=began + timedelta(seconds=seconds),
        )  # fmt: skip
    Run.objects.update(finished_at=began + timedelta(seconds=4))

    page = html(desk.client, "campaigns_run_change", run)

    table = page.partition('id="rate-numbers"')[2].partition("</table>")[0]
    assert re.findall(r"<td[^>]*>(\d+)<", table) == ["200", "0", "200"]
    assert '<chart-values for="rate-numbers">' in page and 'tabindex="0"' in page


def test_the_pages_of_charts_load_what_says_their_values(desk: Desk, project: Project) -> None:
    make_people(project, 1)
    run = ended(make_run(project))
    for page in (html(desk.client, "campaigns_run_change", run), index_of(desk)):
        assert "chart.js" in page
    assert '<chart-values for="day-numbers">' in index_of(desk)


def index_of(desk: Desk) -> str:
    return desk.client.get("/admin/").content.decode()
