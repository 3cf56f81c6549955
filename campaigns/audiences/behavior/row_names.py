"""The names of the rows that rules refer to.

They are read with SQL, because their models are in higher layers, which import this one.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db import connection
from django.utils.translation import gettext as _

from campaigns.audiences.behavior.kind import Named, Names

STATEMENTS = {
    "audience": "SELECT id, name FROM campaigns_audience WHERE project_id = %s AND id = ANY(%s)",
    "campaign": "SELECT id, name FROM campaigns_campaign WHERE project_id = %s AND id = ANY(%s)",
    "run": "SELECT run.id, campaign.name, run.forgotten_at FROM campaigns_run run"
    " JOIN campaigns_campaign campaign ON campaign.id = run.campaign_id"
    " WHERE run.project_id = %s AND run.id = ANY(%s) AND run.kind <> 'rehearsal'",
}


def look_up_names(project_id: int, rows: Iterable[Named]) -> Names:
    """The names of the rows that exist; one statement for each kind of row."""
    ids: dict[str, set[int]] = {}
    for sort, pk in rows:
        ids.setdefault(sort, set()).add(pk)
    names: Names = {}
    for sort, numbers in ids.items():
        with connection.cursor() as cursor:
            cursor.execute(STATEMENTS[sort], [project_id, sorted(numbers)])
            names |= {(sort, pk): _display_name(*row) for pk, *row in cursor.fetchall()}
    return names


def _display_name(name: str, forgotten_at: datetime | None = None) -> str:
    quoted = _("“{name}”").format(name=name)
    return _("{name} (its recipients were removed)").format(name=quoted) if forgotten_at else quoted
