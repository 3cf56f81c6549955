"""Reporting: counts the recipients of a run whose devices can report receipts.

They are counted by the earliest step that the device had reported before the run began. Devices
that start to report with this run are counted with the receipt (`EchoSum.first`).
"""

from __future__ import annotations

from django.db import connection

from campaigns.engagement.receipt import STEPS

# Recipients who may have got it: accepted or unknown. GROUPING bits: a row is about the column
# whose bit is not set.
COUNT = """
SELECT grouping(r.platform, r.locale, r.timezone, r.app_version),
    COALESCE(r.platform, r.locale, r.timezone, r.app_version, ''), e.event, count(*)
FROM campaigns_recipient r
JOIN campaigns_delivery d ON d.run_id = %(run)s AND d.seq = r.seq
    AND d.seq > %(after)s AND d.seq <= %(through)s AND d.status IN ('accepted', 'unknown')
CROSS JOIN LATERAL (
    SELECT min(event) AS event FROM campaigns_reporter WHERE device_id = r.device_id
        AND event <= %(last_step)s
        AND since < (SELECT started_at FROM campaigns_run WHERE id = %(run)s)
) e
WHERE e.event IS NOT NULL AND r.run_id = %(run)s AND r.seq > %(after)s AND r.seq <= %(through)s
GROUP BY GROUPING SETS ((e.event), (r.platform, e.event), (r.locale, e.event),
    (r.timezone, e.event), (r.app_version, e.event))
"""
# The same for each group of a split run.
OF_GROUPS = """
SELECT r.variant::text, e.event, count(*)
FROM campaigns_recipient r
JOIN campaigns_delivery d ON d.run_id = %(run)s AND d.seq = r.seq
    AND d.seq > %(after)s AND d.seq <= %(through)s AND d.status IN ('accepted', 'unknown')
CROSS JOIN LATERAL (
    SELECT min(event) AS event FROM campaigns_reporter WHERE device_id = r.device_id
        AND event <= %(last_step)s
        AND since < (SELECT started_at FROM campaigns_run WHERE id = %(run)s)
) e
WHERE e.event IS NOT NULL AND r.run_id = %(run)s AND r.seq > %(after)s AND r.seq <= %(through)s
    AND r.variant IS NOT NULL
GROUP BY 1, 2
"""
ABOUT = {
    0b1111: "",
    0b0111: "platform",
    0b1011: "locale",
    0b1101: "timezone",
    0b1110: "app_version",
}


def reporting(
    run_id: int, *, after: int, through: int, groups: bool = False
) -> list[tuple[str, str, int, int]]:
    """Rows of column, value, step and count, for recipients numbered `after` + 1 to `through`."""
    params = {"run": run_id, "after": after, "through": through, "last_step": STEPS[-1]}
    with connection.cursor() as cursor:
        cursor.execute(COUNT, params)
        rows = [(ABOUT[bits], *rest) for bits, *rest in cursor.fetchall()]
        if groups:
            cursor.execute(OF_GROUPS, params)
            rows += [("variant", *row) for row in cursor.fetchall()]
        return rows
