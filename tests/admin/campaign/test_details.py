"""What a run's row says in English, a Korean page says in Korean, with the same numbers."""

from __future__ import annotations

from string import Formatter

import pytest
from django.utils import translation

from campaigns import control
from campaigns.runs import details
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.given.builders import make_people, make_run


@pytest.mark.parametrize("sentence", details.SENTENCES)
def test_every_sentence_is_found_again_in_korean(sentence: str) -> None:
    names = [name for _, name, _, _ in Formatter().parse(sentence) if name]
    values = {name: f"{number:,}.5%" for number, name in enumerate(names, start=1_234)}
    with translation.override("ko"):
        said = details.in_words(sentence.format(**values))
        assert said == translation.gettext(sentence).format(**values)
    assert said != sentence.format(**values)
    assert all(value in said for value in values.values())


def test_a_sentence_within_a_sentence_is_said_too() -> None:
    retired = details.RETIRED.format(count="1,200")
    dying = details.DYING.format(dead="31", answered="500", retired=retired)
    with translation.override("ko"):
        said = details.in_words(dying)
    assert "1,200" in said and "retired" not in said


def test_what_fcm_said_stays_as_it_said_it() -> None:
    with translation.override("ko"):
        assert details.in_words("Requested entity was not found.") == (
            "Requested entity was not found."
        )


@pytest.mark.django_db
def test_a_korean_page_says_who_paused_the_run(desk: Desk, project: Project) -> None:
    make_people(project, 1)
    run = make_run(project)
    control.pause(run, by="user:sana.kim")
    assert run.cause_detail == "It was user:sana.kim."

    desk.client.cookies["django_language"] = "ko"
    said = desk.open("campaigns_run_change", run.pk)
    translation.activate("en")

    assert "담당자: sana.kim" in said and "It was" not in said
