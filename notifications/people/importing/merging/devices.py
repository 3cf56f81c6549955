"""SQL that merges the devices of a part: whose they are, and which of an installation receives."""

from __future__ import annotations

from notifications.people.device import seen_at
from notifications.people.installations import LENGTH, REPLACED, first_hand, installation, shows

# An import says who owns an address, not that the phone was seen: a retired device stays retired.
# But if only files and backends named the addresses of an installation, the last one counts.
DEVICES = f"""
INSERT INTO import_device
SELECT s.external_id, k.id, s.address, s.platform, s.app_version,
    d.id IS NOT NULL, d.id IS NOT NULL AND d.contact_id IS DISTINCT FROM k.id,
    d.id IS NULL OR d.contact_id IS DISTINCT FROM k.id OR d.platform <> s.platform
        OR d.app_version <> COALESCE(s.app_version, d.app_version) OR returns
        OR COALESCE(s.seen_at > {seen_at("d")}, s.seen_at IS NOT NULL), returns, s.seen_at
FROM (SELECT * FROM {{table}} WHERE {{range}} AND address IS NOT NULL) s
LEFT JOIN import_known k ON k.external_id = s.external_id
LEFT JOIN notifications_device d
    ON d.project_id = %(project)s AND d.kind = %(kind)s AND d.address = s.address
CROSS JOIN LATERAL (SELECT CASE WHEN d.retired_reason = '{REPLACED}' THEN EXISTS (
    SELECT FROM notifications_device other
    WHERE other.project_id = d.project_id AND {installation("other")} = {installation("d")}
        AND {shows("other")} AND other.retired_at IS NULL AND NOT {first_hand("other")}
) ELSE FALSE END AS returns) back
"""
TOUCHED = """
UPDATE import_known k SET touched = TRUE WHERE NOT k.created AND NOT k.touched AND EXISTS (
    SELECT FROM import_device i WHERE i.contact_id = k.id AND i.differs
)
"""
# For devices that are all new, without ON CONFLICT: see UNLESS_THERE in people.py.
REGISTER = """
INSERT INTO notifications_device AS d
    (project_id, contact_id, kind, address, platform, app_version, registered_at,
     registered_from, last_seen_at, retired_reason, retired_by)
SELECT %(project)s, contact_id, %(kind)s, address, platform, COALESCE(app_version, ''),
    %(now)s, 'import', COALESCE(seen_at, %(now)s), '', ''
FROM import_device WHERE differs
ORDER BY address
"""
REGISTER_KNOWN = f"""
{REGISTER}
ON CONFLICT (project_id, kind, address) DO UPDATE SET
    contact_id = EXCLUDED.contact_id,
    platform = EXCLUDED.platform,
    app_version = COALESCE(NULLIF(EXCLUDED.app_version, ''), d.app_version),
    last_seen_at = CASE WHEN EXCLUDED.last_seen_at = EXCLUDED.registered_at
        THEN d.last_seen_at
        ELSE GREATEST({seen_at("d")}, EXCLUDED.last_seen_at) END
"""
RETURN = f"""
UPDATE notifications_device d SET
    registered_at = %(now)s, registered_from = 'import',
    retired_at = NULL, retired_reason = '', retired_by = ''
FROM import_device i WHERE i.returns AND d.project_id = %(project)s AND d.kind = %(kind)s
    AND d.address = i.address AND d.retired_reason = '{REPLACED}'
"""
MAY_SHOW = f"""(%(kind)s = 'fid' OR substr(i.address, {LENGTH + 1}, 1) = ':')"""
SHOWN = f"""
SELECT {installation("i")} AS installation FROM import_device i WHERE i.differs AND {MAY_SHOW}
"""
# New or returning addresses of installations for which another address receives. There are few.
# They are found before any is registered, when most lookups find nothing. The turns are taken, so
# the answer stays true. They are looked up one by one (OFFSET 0) and whatever the project (SELECT):
# while a first import fills the tables, PostgreSQL has no row counts yet, and would compare each
# device with each.
NOT_ALONE = f"""
SELECT i.address FROM import_device i
WHERE i.differs AND (NOT i.known OR i.returns) AND {MAY_SHOW} AND EXISTS (
    SELECT FROM notifications_device other
    WHERE other.project_id = (SELECT %(project)s::bigint)
        AND {installation("other")} = {installation("i")} AND other.retired_at IS NULL OFFSET 0
)
"""
REGISTERED = """
SELECT id FROM notifications_device
WHERE project_id = %(project)s AND kind = %(kind)s AND address = ANY(%(addresses)s)
    AND registered_at = %(now)s
"""
# In mode replace: devices of the part's people that the file does not name. An installation that
# the file names is left out: which of its addresses receives is decided after registering. Another
# part of the file may name an address, too: only a few are looked up, by index (hence OFFSET 0).
# The devices of each person are looked up in the same way. PostgreSQL would rather read them in the
# order of people, and with them the devices of all people before this part.
GONE = f"""
WITH left_out AS MATERIALIZED (
    SELECT d.id, d.kind, d.address
    FROM import_known k CROSS JOIN LATERAL (
        SELECT * FROM notifications_device own WHERE own.contact_id = k.id OFFSET 0
    ) d
    WHERE d.project_id = %(project)s AND (d.retired_at IS NULL OR d.retired_by <> '')
        AND d.registered_at <= %(now)s AND NOT (
        d.kind = %(kind)s AND d.address IN (SELECT i.address FROM import_device i)
    ) AND NOT ({shows("d")} AND {installation("d")} IN (
        SELECT {installation("i")} FROM import_device i WHERE {MAY_SHOW}
    ))
)
SELECT id FROM left_out d WHERE d.kind <> %(kind)s OR NOT EXISTS (
    SELECT FROM {{table}} s
    WHERE hashtextextended(s.address, 0) = hashtextextended(d.address, 0)
        AND s.address = d.address
    OFFSET 0
)
"""
