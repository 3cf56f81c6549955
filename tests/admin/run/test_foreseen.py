"""Under the line of a run is drawn how it was foreseen."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.engine import engine
from campaigns.planning.foreseen.foreseen import Foreseen
from campaigns.runs.run import Run
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.given.builders import make_people, make_run

pytestmark = pytest.mark.django_db


def sends(project: Project, *, since: timedelta, answered: list[int]) -> Run:
    """A run that began so long ago, with so many answers in each second."""
    make_people(project, 400)
    run = make_run(project)
    engine.advance(run.pk, now=timezone.now())
    began = timezone.now() - since
    Run.objects.filter(pk=run.pk).update(started_at=began, finished_at=began + since)
    chunk = run.chunks.get()
    for second, count in enumerate(answered):
        chunk.windows.create(
            run=run, attempt=1, seqs=list(range(count)), opened_at=began,
            settled_at=began + timedelta(seconds=second + 0.5),
        )  # fmt: skip
    run.refresh_from_db()
    return run


def foresee(run: Run, counts: list[int], step: int = 1) -> None:
    assert run.started_at
    ends = run.started_at + timedelta(seconds=step * len(counts))
    Foreseen.objects.create(
        run=run, starts_at=run.started_at, ends_at=ends, sent=sum(counts), step_seconds=step,
        counts=counts, exact=True,
    )  # fmt: skip


def page_of(desk: Desk, run: Run) -> str:
    return desk.client.get(reverse("admin:campaigns_run_change", args=[run.pk])).content.decode()


def rows_of(page: str) -> list[tuple[str, str]]:
    table = page.partition('id="rate-numbers"')[2].partition("</table>")[0]
    return re.findall(r'<td class="c-number">([^<]*)</td><td class="c-number">([^<]*)</td>', table)


def test_both_lines_are_drawn_and_stand_in_the_table(desk: Desk, project: Project) -> None:
    run = sends(project, since=timedelta(seconds=2.9), answered=[100, 90])
    foresee(run, [120, 80, 60, 40])

    page = page_of(desk, run)

    assert rows_of(page) == [("100", "120"), ("90", "80"), ("–", "60"), ("–", "40")]
    assert len(re.findall(r'<polyline class="r-(?:plan|stroke)" points="[^"]', page)) == 2
    assert "Dashed: as foreseen when it began. 300 messages, the last at" in page


def test_of_a_long_day_the_beginning_is_drawn(desk: Desk, project: Project) -> None:
    run = sends(project, since=timedelta(seconds=20.5), answered=[10] * 20)
    foresee(run, [600] * 1_440, step=60)

    page = page_of(desk, run)
    rows = rows_of(page)

    assert "More of it is drawn" not in page, "it has ended"
    Run.objects.filter(pk=run.pk).update(finished_at=None)
    assert "More of it is drawn as the run goes on." in page_of(desk, run)
    assert 80 <= len(rows) <= 90, "four times as far as it is, and not a day"
    assert {planned for _rate, planned in rows} == {"10"}


def test_a_single_rate_has_its_place_on_the_axis(desk: Desk, project: Project) -> None:
    run = sends(project, since=timedelta(seconds=0.9), answered=[60])
    foresee(run, [1] * 60)
    page = page_of(desk, run)
    heights = re.findall(r'<span style="top: 0%">([^<]*)</span>', page)
    assert "at most 60" in page and heights == ["60"]


def test_a_run_that_was_not_foreseen_has_its_own_line(desk: Desk, project: Project) -> None:
    run = sends(project, since=timedelta(seconds=2.9), answered=[100, 90])

    page = page_of(desk, run)

    assert 'class="r-stroke"' in page
    assert 'class="r-plan"' not in page and "Dashed" not in page and "Foreseen" not in page
