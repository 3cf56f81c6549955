-- Finds the people, checks the deduplication keys and writes the messages in one call: each trip to
-- PostgreSQL costs as much as the work does. Keys are taken in their order, so that two calls with
-- the same keys do not wait for each other in a circle.
CREATE SEQUENCE IF NOT EXISTS campaigns_message_number;

CREATE OR REPLACE FUNCTION accept_messages(_project bigint, _rows jsonb, _may boolean)
    RETURNS TABLE (may boolean, run bigint, its_place int, its_number bigint, is_kept boolean)
    LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
RETURN QUERY
    WITH given AS MATERIALIZED (
        SELECT * FROM jsonb_to_recordset(_rows) AS g (place int, contact text, device text,
            content jsonb, variables jsonb, kind text, category text, on_unknown text, ttl int,
            collapse text, inbox jsonb, at timestamptz, key text, span int)
    ), day AS (
        SELECT id FROM campaigns_run
        WHERE _may AND project_id = _project AND kind = 'messages'
            AND occurrence = to_char(statement_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD')
    ), named AS MATERIALIZED (
        SELECT g.place, day.id AS run_id, nextval('campaigns_message_number') AS number,
            COALESCE(c.id, d.contact_id) AS contact_id, d.id AS device_id, g.key, g.span
        FROM given g CROSS JOIN day
        LEFT JOIN LATERAL (
            SELECT id FROM notifications_contact
            WHERE project_id = _project AND external_id = g.contact LIMIT 1
        ) c ON TRUE
        LEFT JOIN LATERAL (
            SELECT id, contact_id FROM notifications_device
            WHERE project_id = _project AND address = g.device AND retired_at IS NULL LIMIT 1
        ) d ON g.device IS NOT NULL
        WHERE c.id IS NOT NULL OR d.id IS NOT NULL
    ), first AS (
        INSERT INTO campaigns_deduplication AS known (project_id, key, message, until)
        SELECT DISTINCT ON (key) _project, key, run_id || '-' || number,
            statement_timestamp() + span * interval '1 s'
        FROM named WHERE key IS NOT NULL ORDER BY key, place
        ON CONFLICT (project_id, key) DO UPDATE SET message = EXCLUDED.message, until = EXCLUDED.until
            WHERE known.until <= statement_timestamp()
        RETURNING message
    ), kept AS (
        SELECT * FROM named
        WHERE key IS NULL OR run_id || '-' || number IN (SELECT message FROM first)
    ), written AS (
        INSERT INTO campaigns_message (run_id, number, contact_id, device_id, content, variables,
            category_kind, category, on_unknown, ttl_seconds, collapse, inbox, state, at)
        SELECT kept.run_id, kept.number, kept.contact_id, kept.device_id, g.content, g.variables,
            g.kind, g.category, g.on_unknown, g.ttl, g.collapse, g.inbox, 'waiting',
            COALESCE(g.at, statement_timestamp())
        FROM kept JOIN given g USING (place)
    )
    SELECT _may, (SELECT id FROM day), named.place, named.number,
        kept.place IS NOT NULL
    FROM (VALUES (1)) one LEFT JOIN named ON TRUE LEFT JOIN kept USING (place);
END $$;
