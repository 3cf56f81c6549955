"""Planned: whom will a run that is to come reach, as its people are now?"""

from __future__ import annotations

from django.core.exceptions import ValidationError

from campaigns.audiences.happened.kind import Sql
from campaigns.audiences.selection import compile_tree, drawn, people_and_devices
from campaigns.audiences.settled.settling import settled
from campaigns.runs.had import had
from campaigns.runs.run import Run
from notifications.people.consent import standing

# Of a recipient: not of the control group, nor of the holdout.
GETS_IT = "COALESCE(variant, 0) >= 0"


def people_of(run: Run) -> Sql:
    """A statement that finds their `contact_id`; nobody, where its rules do not work any more. Not
    who gets nothing of it: who is out, or had it before, or is in no group that does."""
    if run.planned is not None and not run.freezing:
        got = "SELECT contact_id FROM campaigns_recipient WHERE run_id = %s AND {gets_it}"
        return Sql(got.format(gets_it=GETS_IT), [run.pk])
    try:
        rules = drawn(run.project_id, settled(run.project_id, run.rules))
    except ValidationError:
        return Sql("SELECT NULL::bigint AS contact_id WHERE FALSE")
    where, asks = compile_tree(rules), run.asks
    leaves_out = run.campaign_id if run.once_each else None
    before = had.any_of(leaves_out, besides=run.pk) if leaves_out else []
    had_it = "".join(f" AND NOT ({sql})" for sql, _params in before)
    return Sql(
        f"SELECT c.id AS contact_id FROM {people_and_devices(run.project_id)} {standing.JOIN}"
        f" WHERE c.project_id = %s AND d.id IS NOT NULL AND {where.sql}"
        f" AND {standing.out('%s', '%s')} = ''{had_it}",
        [
            *(run.project_id, *where.params, asks["marketing"], asks["category"]),
            *(param for _sql, params in before for param in params),
        ],
    )
