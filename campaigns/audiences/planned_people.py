"""The people that a planned run would reach, as its audience is now."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError

from campaigns.audiences.behavior.kind import Sql
from campaigns.audiences.resolving.settling import rules_for_sql
from campaigns.audiences.selection import compile_tree, drawn, people_and_devices
from campaigns.runs import prior_recipients
from campaigns.runs.run import Run
from notifications.people.consent import eligibility

# Leaves out recipients in the control group and in the holdout.
GETS_IT = "COALESCE(variant, 0) >= 0"
# The recipients of a frozen run, without those whose message was skipped or rejected.
FROZEN = """
SELECT r.contact_id FROM campaigns_recipient r
JOIN notifications_contact c ON c.id = r.contact_id {join}
WHERE r.run_id = %s AND {gets_it} AND {out} = '' AND NOT EXISTS (
    SELECT FROM campaigns_delivery x
    WHERE x.run_id = r.run_id AND x.seq = r.seq AND x.status IN ('skipped', 'rejected'))
"""


def people_of(run: Run) -> Sql:
    """A SELECT of the `contact_id` of each person who would get something from the run.

    It leaves out people without consent, in the control group or the holdout, or who already had
    the campaign if it is sent once per person. If the rules no longer work, it finds nobody.
    """
    if run.planned is not None and not run.freezing:
        asks = run.asks
        return Sql(
            FROZEN.format(
                gets_it=GETS_IT, out=eligibility.skip_reason_sql("%s", "%s"), join=eligibility.JOIN
            ),
            [run.pk, asks["marketing"], asks["category"]],
        )
    try:
        rules = drawn(run.project_id, rules_for_sql(run.project_id, run.rules))
    except ValidationError:
        return Sql("SELECT NULL::bigint AS contact_id WHERE FALSE")
    where, asks = compile_tree(rules), run.asks
    not_received, values = "TRUE", list[Any]()
    if run.once_each and run.campaign_id:
        not_received, values = prior_recipients.not_received(run.campaign_id, except_run=run.pk)
    return Sql(
        f"SELECT c.id AS contact_id FROM {people_and_devices(run.project_id)} {eligibility.JOIN}"
        f" WHERE c.project_id = %s AND d.id IS NOT NULL AND {where.sql}"
        f" AND {eligibility.skip_reason_sql('%s', '%s')} = '' AND {not_received}",
        [run.project_id, *where.params, asks["marketing"], asks["category"], *values],
    )
