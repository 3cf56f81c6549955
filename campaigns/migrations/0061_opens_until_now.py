from django.db import migrations

# Who opened what in the last 90 days, as far as the recipients are still there. By itself: while it
# reads what may be millions of receipts, it locks nothing that is sent from.
FILLED = """
INSERT INTO campaigns_opens
    (contact_id, hours, best_hour, opened_then, opened, oldest_day)
SELECT contact_id, hours, best.hour, best.opened_then, best.opened,
    date '1970-01-01' + hours[cardinality(hours)] / 24
FROM (SELECT contact_id, (array_agg(hour ORDER BY hour DESC))[:100] AS hours FROM (
    SELECT r.contact_id, floor(extract(epoch FROM CASE
        WHEN told.phone_at BETWEEN run.started_at AND told.at THEN told.phone_at ELSE told.at
    END AT TIME ZONE zone.name) / 3600)::int AS hour
    FROM campaigns_receipt told
    JOIN campaigns_run run ON run.id = told.run_id
    JOIN campaigns_recipient r ON r.run_id = told.run_id AND r.seq = told.seq
    JOIN notifications_contact c ON c.id = r.contact_id
    JOIN pg_timezone_names zone ON zone.name = r.timezone
    WHERE told.event = 3 AND told.at > statement_timestamp() - interval '90 days'
) opened
WHERE hour > floor(extract(epoch FROM statement_timestamp()) / 3600) - 90 * 24 GROUP BY 1
) theirs LEFT JOIN LATERAL (
    SELECT mod(at, 24) AS hour, count(*) AS opened_then, sum(count(*)) OVER () AS opened
    FROM unnest(hours) AS at GROUP BY 1 ORDER BY 2 DESC, max(at) DESC LIMIT 1
) best ON best.opened >= 3 AND best.opened_then >= 2;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('campaigns', '0060_best_hour'),
    ]

    operations = [
        migrations.RunSQL(FILLED, migrations.RunSQL.noop),
    ]
