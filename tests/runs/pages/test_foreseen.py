"""Under the line of a run is drawn how it was foreseen."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.engagement.receipt import EchoSum
from campaigns.engine import engine
from campaigns.launch_check.stored_forecast import Foreseen
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


# --- Opens ----------------------------------------------------------------------------------------

EXPECTED = {
    "expected": 40, "told": 20, "share": 0.1, "runs": [1], "half_after": 600.0,
    "most_per_second": 1.0, "step": 300, "counts": [16, 8, 4, 4, 8] + [0] * 99,
}  # fmt: skip


def run_with_opens(project: Project, counts: dict[int, int], opens: dict[str, Any] | None) -> Run:
    """So many were told in these ten minutes since it began."""
    run = sends(project, since=timedelta(hours=1), answered=[100, 90])
    foresee(run, [100, 90])
    Foreseen.objects.update(opens=opens)
    for slot, count in counts.items():
        EchoSum.objects.create(run_id=run.pk, by="after", value=str(slot), event=3, count=count)
    EchoSum.objects.create(run_id=run.pk, event=3, count=sum(counts.values()))
    return run


def opens_of(page: str) -> list[tuple[str, str]]:
    table = page.partition('id="opened-numbers"')[2].partition("</table>")[0]
    return re.findall(r'<td class="c-number">([^<]*)</td><td class="c-number">([^<]*)</td>', table)


def test_under_what_phones_told_is_drawn_how_many_should_open_it(
    desk: Desk, project: Project
) -> None:
    """Of the foreseen ones every second phone will tell."""
    run = run_with_opens(project, {0: 9, 1: 5}, EXPECTED)

    page = page_of(desk, run)

    assert opens_of(page)[:3] == [("9", "12"), ("5", "4"), ("–", "4")]
    assert len(opens_of(page)) == 8, "four times as far as the bars are"
    assert "About 40 opens, of which phones tell of about 20." in page
    chart = page.partition('id="opened-chart"')[2].partition("</svg>")[0]
    assert 'class="r-plan"' in chart and chart.count('class="r-block"') == 2


def test_where_nobody_knew_how_many_open_it_the_bars_stand_alone(
    desk: Desk, project: Project
) -> None:
    for nothing in (None, {**EXPECTED, "expected": 0, "told": 0, "counts": [0]}):
        Foreseen.objects.all().delete()
        run = run_with_opens(project, {0: 9, 1: 5}, nothing)
        chart = page_of(desk, run).partition('id="opened-chart"')[2]
        assert opens_of(chart) == [] and 'class="r-plan"' not in chart
