"""SQL that merges the people of a part: it folds rows, creates, changes and counts people."""

from __future__ import annotations

from notifications.people.importing.model import Import

# A part has few of all people, so each is looked up by index. PostgreSQL does not know how many
# rows a temporary table holds, and would rather read all devices for every part.
ONE_BY_ONE = "SET LOCAL enable_seqscan = off; SET LOCAL random_page_cost = 1.1"
# Emptied by each commit, and before each part that shares its transaction with another. The next
# user of this connection may find the tables there.
TEMPORARY = """
CREATE TEMPORARY TABLE IF NOT EXISTS import_person (
    external_id text NOT NULL, attributes jsonb, locale text, timezone text
) ON COMMIT DELETE ROWS;
CREATE TEMPORARY TABLE IF NOT EXISTS import_known (
    id bigint NOT NULL, external_id text NOT NULL, created bool NOT NULL, changed bool NOT NULL,
    attributes jsonb, locale text, timezone text, touched bool NOT NULL DEFAULT FALSE
) ON COMMIT DELETE ROWS;
CREATE TEMPORARY TABLE IF NOT EXISTS import_device (
    external_id text NOT NULL, contact_id bigint, address text NOT NULL, platform text,
    app_version text, known bool NOT NULL, moves bool NOT NULL, differs bool NOT NULL,
    returns bool NOT NULL, seen_at timestamptz
) ON COMMIT DELETE ROWS;
DELETE FROM import_person;
DELETE FROM import_known;
DELETE FROM import_device
"""
RANGE = """external_id COLLATE "C" > %(low)s AND external_id COLLATE "C" <= %(high)s"""
# If a person has several rows, such as one for each device, the last value of each field counts.
FOLD = """
WITH given AS MATERIALIZED (
    SELECT row, external_id, attributes, locale, timezone FROM {table} WHERE {range}
), often AS MATERIALIZED (
    SELECT external_id FROM given GROUP BY external_id HAVING count(*) > 1
), newest AS (
    SELECT external_id,
        (array_agg(locale ORDER BY row DESC) FILTER (WHERE locale IS NOT NULL))[1] AS locale,
        (array_agg(timezone ORDER BY row DESC) FILTER (WHERE timezone IS NOT NULL))[1] AS timezone
    FROM given WHERE external_id IN (SELECT external_id FROM often) GROUP BY external_id
), attributes AS (
    SELECT external_id, jsonb_object_agg(each.key, each.value ORDER BY row) AS attributes
    FROM given, jsonb_each(given.attributes) each
    WHERE external_id IN (SELECT external_id FROM often) GROUP BY external_id
)
INSERT INTO import_person (external_id, attributes, locale, timezone)
SELECT external_id, attributes, locale, timezone FROM given
WHERE NOT EXISTS (SELECT FROM often WHERE often.external_id = given.external_id)
UNION ALL
SELECT newest.external_id, attributes.attributes, newest.locale, newest.timezone
FROM newest LEFT JOIN attributes USING (external_id)
"""
# Left out at first: ON CONFLICT looks up each person once more, which takes a fifth of the merge.
# A person who was created meanwhile is a collision, and the part is repeated with it.
UNLESS_THERE = "ON CONFLICT (project_id, external_id) DO NOTHING"
CREATE = """
WITH made AS (
    INSERT INTO notifications_contact
        (project_id, external_id, attributes, locale, timezone, created_at, updated_at)
    SELECT %(project)s, external_id, COALESCE(attributes, '{}'), COALESCE(locale, ''),
        COALESCE(timezone, ''), %(now)s, %(now)s
    FROM import_person p WHERE NOT EXISTS (
        SELECT FROM notifications_contact c
        WHERE c.project_id = %(project)s AND c.external_id = p.external_id
    )
    ORDER BY external_id
    {unless_there}
    RETURNING id, external_id
)
INSERT INTO import_known (id, external_id, created, changed)
SELECT id, external_id, TRUE, FALSE FROM made
"""
# The new values of people who exist already. In mode add, an empty cell changes nothing; in mode
# replace, it clears the value.
MERGED: dict[str, str] = {
    Import.Mode.ADD: """c.attributes || COALESCE(p.attributes, '{}') AS attributes,
        COALESCE(p.locale, c.locale) AS locale, COALESCE(p.timezone, c.timezone) AS timezone""",
    Import.Mode.REPLACE: """COALESCE(p.attributes, '{}') AS attributes,
        COALESCE(p.locale, '') AS locale, COALESCE(p.timezone, '') AS timezone""",
    Import.Mode.REMOVE: "NULL::jsonb AS attributes, NULL AS locale, NULL AS timezone",
}
FIND = """
INSERT INTO import_known
    (id, external_id, created, changed, attributes, locale, timezone)
SELECT c.id, c.external_id, FALSE,
    (new.attributes, new.locale::text, new.timezone::text)
        IS DISTINCT FROM (c.attributes, c.locale::text, c.timezone::text),
    new.attributes, new.locale, new.timezone
FROM import_person p
JOIN notifications_contact c
    ON c.project_id = %(project)s AND c.external_id = p.external_id
CROSS JOIN LATERAL (SELECT {merged}) new
WHERE NOT EXISTS (SELECT FROM import_known k WHERE k.external_id = p.external_id)
ORDER BY c.external_id {held}
"""
HELD: dict[str, str] = {
    Import.Mode.ADD: "FOR NO KEY UPDATE OF c",
    Import.Mode.REPLACE: "FOR NO KEY UPDATE OF c",
    Import.Mode.REMOVE: "FOR UPDATE OF c",
}
WORDS = """
SELECT external_id, '' AS category, subscribed AS wanted, said_at AS at
FROM {table} WHERE {range} AND subscribed IS NOT NULL
UNION ALL
SELECT external_id, each.key, each.value::bool, said_at
FROM {table}, jsonb_each(choices) each WHERE {range} AND choices IS NOT NULL
"""
# Marks people whose answer will change, or be their first: decided as in consent/record.py.
ANSWERS = """
UPDATE import_known k SET touched = TRUE
FROM (
    SELECT DISTINCT word.external_id FROM ({words}) word
    JOIN notifications_contact c
        ON c.project_id = %(project)s AND c.external_id = word.external_id
    CROSS JOIN LATERAL (
        SELECT CASE word.category WHEN '' THEN c.subscribed
                ELSE COALESCE((c.preferences -> word.category ->> 'wanted')::bool, TRUE)
            END AS wanted,
            CASE word.category WHEN '' THEN c.subscribed_at
                ELSE (c.preferences -> word.category ->> 'at')::timestamptz
            END AS at
    ) known
    WHERE NOT (%(careful)s AND word.wanted AND (word.at IS NULL OR word.at > %(now)s))
        AND (known.at IS NULL OR (known.wanted <> word.wanted AND (
            (word.at IS NULL AND NOT word.wanted) OR LEAST(word.at, %(now)s) > known.at
            OR (LEAST(word.at, %(now)s) = known.at AND NOT word.wanted)
        )))
) news
WHERE news.external_id = k.external_id AND NOT k.created
"""
# Counts people whom the file unsubscribes or subscribes again, from everything or from a category.
# One answer of each person and category counts, chosen as in consent/record.py. People who do not
# exist yet were never unsubscribed.
TURNED = """
SELECT count(*) FILTER (WHERE category = '' AND was AND NOT wanted),
    count(*) FILTER (WHERE category = '' AND wanted AND NOT was),
    count(DISTINCT external_id) FILTER (WHERE category <> '' AND was AND NOT wanted),
    count(DISTINCT external_id) FILTER (WHERE category <> '' AND wanted AND NOT was)
FROM (
    SELECT DISTINCT ON (word.external_id, word.category)
        word.external_id, word.category, word.wanted, said.at, known.was, known.since
    FROM ({words}) word
    LEFT JOIN notifications_contact c
        ON c.project_id = %(project)s AND c.external_id = word.external_id
    CROSS JOIN LATERAL (
        SELECT COALESCE(CASE word.category WHEN '' THEN c.subscribed
                ELSE (c.preferences -> word.category ->> 'wanted')::bool
            END, TRUE) AS was,
            CASE word.category WHEN '' THEN c.subscribed_at
                ELSE (c.preferences -> word.category ->> 'at')::timestamptz
            END AS since
    ) known
    CROSS JOIN LATERAL (
        SELECT CASE WHEN word.at IS NULL
            THEN GREATEST(%(now)s, known.since + interval '1 microsecond')
            ELSE LEAST(word.at, %(now)s) END AS at
    ) said
    WHERE NOT (%(careful)s AND word.at IS NULL AND word.wanted AND NOT known.was)
    ORDER BY word.external_id, word.category, said.at DESC, word.wanted
) last
WHERE since IS NULL OR at > since OR (at = since AND was AND NOT wanted)
"""
WRITE = """
UPDATE notifications_contact c SET
    attributes = k.attributes, locale = k.locale, timezone = k.timezone, updated_at = %(now)s
FROM import_known k WHERE c.id = k.id AND k.changed
"""
COUNT = """
SELECT (SELECT count(*) FROM import_person) AS people, count(k.id) AS known,
    count(*) FILTER (WHERE k.created) AS created,
    count(*) FILTER (WHERE NOT k.created AND (k.changed OR k.touched)) AS updated,
    (SELECT count(*) FROM import_device WHERE moves) AS moved,
    (SELECT count(*) FROM import_device WHERE returns) AS returning,
    (SELECT count(*) FROM import_device WHERE known AND differs) AS changing
FROM import_known k
"""
KEEP = """
INSERT INTO notifications_importbatch (owner_id, number, contact_ids)
SELECT %(owner)s, %(number)s, COALESCE(array_agg(id), '{}') FROM import_known
"""
