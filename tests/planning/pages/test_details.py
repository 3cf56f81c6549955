"""A run's row keeps a code and its arguments; a page says them in the reader's language."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import translation

from campaigns import control, tasks
from campaigns.engine import broken_runs
from campaigns.runs import details
from campaigns.runs.details import Detail
from campaigns.runs.reasons import Cause
from campaigns.runs.run import Run
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.api.caller import Caller
from tests.given.builders import make_people, make_run

# Every code, with what it is said of.
SAID: dict[str, dict[str, Any]] = {
    "unreadable": {"count": 1_234},
    "foreign": {"count": 1_234, "answered": 5_678},
    "refused": {"count": 1_234},
    "dying": {"dead": 1_234, "answered": 5_678},
    "dying_retired": {"dead": 1_234, "answered": 5_678, "retired": 9_012},
    "storm": {"copies": 1_234, "planned": 5_678},
    "held": {"count": 1_234, "platforms": ["ios", "android"]},
    "stuck": {"count": 1_234},
    "late": {"minutes": 95},
    "silent": {"minutes": 95},
    "list_gone": {"lists": [1234, 5678]},
    "rules_broken": {"problem": "rules.value: must be a text."},
    "text_broken": {"problem": "at most 100 tags."},
    "opens_unknown": {},
    "first_part": {
        "sent": 1_234, "rejected": 6, "most_rejected": 5, "dead": 11, "most_dead": 10,
        "able": 5_678, "received": 29, "least_received": 30,
    },
    "first_part_untold": {
        "sent": 1_234, "rejected": 6, "most_rejected": 5, "dead": 11, "most_dead": 10,
    },
    "first_part_nobody": {"devices": 1_234},
    "no_winner": {"least": 20},
    "no_winner_sure": {},
    "no_winner_counted": {},
    "left_out": {"run": 1234},
    "left_out_for": {"run": 1234},
    "series_paused": {},
    "left_out_by": {"who": "user:sana.kim"},
    "by_hand": {"who": "user:sana.kim"},
}  # fmt: skip


def row_of(detail: Detail | str) -> Run:
    return Run(**details.columns(detail))


def test_here_is_every_code() -> None:
    assert {*SAID, "quoted"} == set(details.SENTENCES)


@pytest.mark.parametrize("code", SAID)
def test_every_code_has_korean_words_with_all_its_values(code: str) -> None:
    run = row_of(details.make(code, **SAID[code]))
    with translation.override("ko"):
        said = run.detail
    assert said != details.in_english(code, SAID[code])
    for value in SAID[code].values():
        assert f"{value:,}" in said if isinstance(value, int) and "run" not in SAID[code] else True
    assert "iOS, Android" in said if code == "held" else "user:" not in said


def test_one_is_one_and_many_are_many() -> None:
    assert row_of(details.make("stuck", count=1)).detail == "1 chunk is left."
    assert row_of(details.make("stuck", count=1_200)).detail == "1,200 chunks are left."


def test_a_long_time_is_said_in_hours_and_kept_in_minutes() -> None:
    run = row_of(details.lasting("late", timedelta(minutes=130)))
    assert (run.detail_code, run.detail_args) == ("late", {"minutes": 130})
    assert run.detail == "It was due 2 h ago."


def test_what_fcm_said_stays_as_it_said_it() -> None:
    run = row_of("Requested {entity} was not found.")
    with translation.override("ko"):
        assert run.detail == "Requested {entity} was not found."


@pytest.mark.django_db
def test_a_resumed_run_keeps_no_detail(project: Project) -> None:
    make_people(project, 1)
    run = make_run(project)
    control.pause(run, by="user:ada")
    control.resume(run, by="user:ada")
    run.refresh_from_db()
    assert (run.detail_code, run.detail_args) == ("", None)


@pytest.mark.django_db
def test_a_korean_page_says_who_paused_the_run(desk: Desk, project: Project) -> None:
    make_people(project, 1)
    run = make_run(project)
    control.pause(run, by="user:sana.kim")
    assert (run.detail_code, run.detail_args) == ("by_hand", {"who": "user:sana.kim"})

    desk.client.cookies["django_language"] = "ko"
    said = desk.open("campaigns_run_change", run.pk)
    translation.activate("en")

    assert "담당자: sana.kim" in said and "It was" not in said


BROKEN: dict[str, tuple[Callable[[Run], dict[str, Any]], str]] = {
    "rules": (
        lambda run: {"rules": {"field": "attributes.age", "op": "gt", "value": "old"}},
        "must be a number",
    ),
    "text": (
        lambda run: {"content": {**run.content, "body": "{{ x }}" * 101}},
        "at most 100 tags",
    ),
}


@pytest.mark.django_db
@pytest.mark.parametrize("part", BROKEN)
def test_a_korean_page_says_in_korean_what_is_broken(
    desk: Desk, project: Project, part: str
) -> None:
    changed, english = BROKEN[part]
    make_people(project, 1)
    run = make_run(project, advanced=False)
    Run.objects.filter(pk=run.pk).update(**changed(run))
    tasks.advance(run_id=run.pk)
    run.refresh_from_db()
    assert english in run.detail and f"{part}_broken" == run.detail_code
    assert english in desk.open("campaigns_run_change", run.pk)

    with translation.override("ko"):
        korean = broken_runs.detail_of(run)
    desk.client.cookies["django_language"] = "ko"
    pages = [desk.open("campaigns_run_change", run.pk), desk.open("campaigns_overview")]
    translation.activate("en")

    for said in pages:
        assert korean in said and english not in said


@pytest.mark.django_db
def test_what_is_broken_no_more_is_said_as_it_was_kept(project: Project) -> None:
    kept = details.make("text_broken", problem="at most 90 tags.")
    run = make_run(project, advanced=False)
    run.pause(Cause.BROKEN, kept)
    assert "at most 90 tags." in broken_runs.detail_of(run)


# --- What other releases write ------------------------------------------------------------------

MISFITS: dict[str, tuple[str, Any]] = {
    "a code of a later release": ("tea_only", {"cups": 2}),
    "none": ("late", None),
    "another name": ("late", {"seconds": 300}),
    "a text for a number": ("late", {"minutes": "5"}),
    "null for a number": ("late", {"minutes": None}),
    "one is missing": ("held", {"count": 5}),
    "the plural has no number": ("stuck", {"count": [5]}),
    "a list of people": ("by_hand", {"who": ["user:ada"]}),
    "nobody": ("by_hand", {"who": None}),
    "a number for a person": ("by_hand", {"who": 5}),
    "a list": ("by_hand", ["user:ada"]),
    "a text": ("by_hand", "user:ada"),
}


@pytest.mark.django_db
@pytest.mark.parametrize("case", MISFITS)
def test_arguments_that_do_not_fit_their_code_leave_the_bare_code(
    case: str, desk: Desk, project: Project
) -> None:
    code, args = MISFITS[case]
    make_people(project, 1)
    run = make_run(project)
    run.pause(Cause.LATE)
    Run.objects.filter(pk=run.pk).update(detail_code=code, detail_args=args)
    said = desk.open("campaigns_run_change", run.pk, HTTP_ACCEPT_LANGUAGE="ko")
    answer = Caller(project).get(f"runs/{run.pk}")
    assert f" {code}" in said
    assert answer.status_code == 200 and answer.json()["reason"].endswith(code)
