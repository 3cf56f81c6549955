"""When a device or person was last seen: in rules, and as a limit for unseen devices."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import connection

# --- The limit of a project -----------------------------------------------------------------------


def seen_since(project_id: int) -> datetime | None:
    """The time since which a device must have been seen, as of now; None: there is no limit.

    It uses PostgreSQL's clock, as all times in rules do.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT statement_timestamp() - make_interval(days => leave_out_unseen_days)"
            " FROM notifications_project WHERE id = %s",
            [project_id],
        )
        row = cursor.fetchone()
    return row[0] if row else None


def fresh(since: datetime | None) -> str:
    """SQL that tells whether the device `d` was seen since then."""
    return f"d.last_seen_at >= '{since.isoformat()}'::timestamptz" if since else "TRUE"


# --- Rules that are meant for people --------------------------------------------------------------

DEVICE, PERSON = "last_seen_at", "person_seen_at"
RECENT, LONG_AGO = ("within_last", "after"), ("before",)


def asks_devices(tree: dict[str, Any]) -> bool:
    return asking_people(tree) != tree


def asking_people(tree: dict[str, Any], *, turned: bool = False) -> dict[str, Any]:
    """The same tree, with rules on a device not seen lately changed to rules on its person.

    `turned`: the node is inside an odd number of “not”s.
    """
    for word in ("all", "any"):
        if word in tree:
            return {word: [asking_people(inner, turned=turned) for inner in tree[word]]}
    if "not" in tree:
        return {"not": asking_people(tree["not"], turned=not turned)}
    stays_away = tree["field"] == DEVICE and tree["op"] in (RECENT if turned else LONG_AGO)
    return {**tree, "field": PERSON} if stays_away else tree
