"""People over time on the overview: drawn from kept figures, with numbers beside each drawing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.figures import (
    DEAD,
    OPTED_OUT,
    REACHABLE,
    Figure,
    keep,
    keep_days,
    midnight,
)
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.given.builders import make_contact

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


def counted(project: Project, what: str, counts: Sequence[int | None]) -> None:
    """The last of them today; None: nobody counted on that day."""
    now = timezone.now()
    today, last = midnight(project.timezone, now), len(counts) - 1
    known = {today - DAY * (last - at): one for at, one in enumerate(counts) if one is not None}
    keep(project.pk, what, known, now)


def page_of(desk: Desk, **query: int) -> str:
    return desk.client.get(reverse("admin:overview_people"), query).content.decode()


def test_before_the_first_count_it_says_when_there_will_be_one(
    desk: Desk, project: Project
) -> None:
    text = desk.open("overview_people")
    assert "Not counted yet. The scheduler counts them within 10 minutes" in text
    assert "<svg" not in page_of(desk)


def test_after_the_first_day_there_is_a_number_and_no_line_yet(
    desk: Desk, project: Project
) -> None:
    counted(project, REACHABLE, [12_345])
    text = desk.open("overview_people")
    assert "12,345" in text and "Its line begins tomorrow" in text
    assert "reachable-chart" not in page_of(desk)


def test_a_line_tells_the_change_and_has_its_table(desk: Desk, project: Project) -> None:
    counted(project, REACHABLE, [1_000, None, 1_200])
    text = desk.open("overview_people")
    assert "1,200 +200 since" in text and "Day Can be reached" in text
    html = page_of(desk)
    assert html.count("<polyline") == 2  # nothing is made up for the day between
    assert re.search(r'<td class="c-number">–</td>', html)


def test_opt_outs_and_dead_addresses_are_bars_with_their_sum_and_today(
    desk: Desk, project: Project
) -> None:
    counted(project, OPTED_OUT, [3, 0, 4])
    counted(project, DEAD, [0, 0])
    text = desk.open("overview_people")
    assert re.search(r"Opt-outs a day 7 since .*; 4 today, as of", text)
    assert "FCM had called no address dead by then." in text
    assert page_of(desk).count("<rect") == 2


def test_after_midnight_yesterdays_count_is_not_called_todays(desk: Desk, project: Project) -> None:
    yesterday = timezone.now() - DAY
    keep(project.pk, OPTED_OUT, {midnight(project.timezone, yesterday): 585}, yesterday)
    text = desk.open("overview_people")
    assert re.search(r"Opt-outs a day 585 since [^;]*, as of", text) and "today" not in text


@pytest.mark.parametrize(("counts", "marks"), [([4], 1), ([4, 4], 2), ([4, 4, 4], 3)])
def test_no_date_stands_twice_under_a_drawing(
    desk: Desk, project: Project, counts: list[int], marks: int
) -> None:
    counted(project, OPTED_OUT, counts)
    under = page_of(desk).partition('<div class="o-times"')[2].partition("</div>")[0]
    dates = re.findall(r"<span>([^<]*)</span>", under)
    assert len(dates) == len(set(dates)) == marks


def test_one_may_look_further_back(desk: Desk, project: Project) -> None:
    counted(project, OPTED_OUT, [9] + [0] * 59 + [1])
    assert "Opt-outs a day 1 since" in desk.open("overview_people")
    assert "Opt-outs a day 10 since" in desk.open("overview_people", days=90)
    assert "Opt-outs a day 1 since" in desk.open("overview_people", days="9e9")


def test_each_figure_leads_to_its_list(desk: Desk, project: Project) -> None:
    for what in (REACHABLE, OPTED_OUT, DEAD):
        counted(project, what, [5, 5])
    html = page_of(desk)
    make_contact(project, external_id="yes-please")
    make_contact(project, external_id="no-thanks", subscribed=False)
    for query in ("?subscribed=no", "?state=retired"):
        assert query in html
    assert "?subscribed=yes" not in html, "some of these have no device: it is another set"
    assert "no-thanks" not in (
        listed := desk.open("notifications_contact_changelist", subscribed="yes")
    )
    assert "yes-please" in listed
    listed = desk.open("notifications_contact_changelist", subscribed="no")
    assert "no-thanks" in listed and "yes-please" not in listed


def test_another_projects_people_are_not_shown(
    desk: Desk, project: Project, museum: Project
) -> None:
    counted(project, REACHABLE, [111, 111])
    counted(museum, REACHABLE, [222, 222])
    assert "111" in (text := desk.open("overview_people")) and "222" not in text
    desk.go_to(museum)
    assert "222" in (text := desk.open("overview_people")) and "111" not in text


def test_no_person_and_no_device_is_read_for_it(desk: Desk, project: Project) -> None:
    keep_days(project, timezone.now())
    with CaptureQueriesContext(connection) as asked:
        page_of(desk, days=365)
    tables = [Contact._meta.db_table, Device._meta.db_table, "notifications_consentchange"]
    assert [one["sql"] for one in asked if any(table in one["sql"] for table in tables)] == []
    assert sum(Figure._meta.db_table in one["sql"] for one in asked) == 3
