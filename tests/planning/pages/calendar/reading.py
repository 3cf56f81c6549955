"""The calendar as a reader sees it, as a file has it, and a run moved on it."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from campaigns.runs.run import Run
from tests.admin.desk import Desk


def cells(desk: Desk, **query: Any) -> dict[str, str]:
    """What each day that can still come says."""
    html = desk.client.get("/admin/campaigns/campaign/calendar/", query).content.decode()
    found = re.findall(r'<td[^>]*data-day="([-\d]+)"[^>]*>(.*?)</td>', html, re.DOTALL)
    return {day: re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", cell)) for day, cell in found}


def events(desk: Desk, **query: Any) -> list[dict[str, str]]:
    reply = desk.client.get("/admin/campaigns/campaign/calendar.ics", query)
    assert reply.status_code == 200 and reply["Content-Type"] == "text/calendar; charset=utf-8"
    whole = reply.content.decode()
    assert whole.startswith("BEGIN:VCALENDAR\r\nVERSION:2.0\r\n") and "\n\n" not in whole
    assert whole.endswith("END:VCALENDAR\r\n")
    parts = whole.replace("\r\n ", "").split("BEGIN:VEVENT\r\n")[1:]
    each = (part.partition("END:VEVENT")[0].splitlines() for part in parts)
    return [dict(line.split(":", 1) for line in lines) for lines in each]


def move(desk: Desk, run: Run, wall: datetime, **values: Any) -> Any:
    asked = {
        "at": f"{wall:%Y-%m-%dT%H:%M}",
        "zone": "Asia/Seoul",
        "was": run.scheduled_at.isoformat(),
        "looked_at": f"{wall:%Y-%m-%dT%H:%M:%S}",
    }
    return desk.confirm("campaigns_run_move", run.pk, **{**asked, **values})
