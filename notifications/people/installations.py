"""Installations: two addresses of one app on one phone are one device, and one push.

An app has a Firebase installation ID of 22 letters. Its registration token begins with it, before
the first colon, so a token and the ID itself, or two tokens, are known to be of one installation.
One of them receives, the others are retired as replaced: what the app itself registered (or
somebody by hand) counts for more than what a file or a backend says, and else the address that was
registered last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db import connection

REPLACED = "replaced"
LENGTH = 22
FID = re.compile(rf"[A-Za-z0-9_-]{{{LENGTH}}}")


def installation_of(kind: str, address: str) -> str | None:
    """None for an address that does not show it."""
    fid, colon, _ = address.partition(":")
    shown = bool(colon) if kind == "token" else not colon
    return fid if shown and FID.fullmatch(fid) else None


def installation(of: str) -> str:
    """The same in SQL, of a device by this name; an index has it of those that receive."""
    return f"left({of}.address, {LENGTH})"


def shows(of: str) -> str:
    """Whether a device's address ends, or its colon stands, where an installation's ID does."""
    after = f"substr({of}.address, {LENGTH + 1}, 1)"
    return f"{after} = CASE {of}.kind WHEN 'token' THEN ':' ELSE '' END"


def same_installation(one: str, other: str) -> str:
    """Whether two devices have addresses of the same installation."""
    both = f"{shows(one)} AND {shows(other)} AND {installation(one)} = {installation(other)}"
    return f"({both} AND {installation(one)} ~ '^{FID.pattern}$')"


FIRST_HAND = ("app", "page")


def first_hand(of: str) -> str:
    """Whether a device receives by the word of its app, or of somebody on the pages."""
    return f"{of}.registered_from IN {FIRST_HAND}"


RETIRE_OLDER = f"""
WITH touched AS (
    SELECT DISTINCT d.project_id, {installation("d")} AS fid FROM notifications_device d
    WHERE d.id = ANY(%(ids)s) AND {shows("d")} AND EXISTS (
        SELECT FROM notifications_device other
        WHERE other.project_id = d.project_id AND {installation("other")} = {installation("d")}
            AND other.retired_at IS NULL AND other.id <> d.id
    ) AND {installation("d")} ~ %(fid)s
), numbered AS (
    SELECT d.id, row_number() OVER (
        PARTITION BY d.project_id, touched.fid
        ORDER BY {first_hand("d")} DESC, d.registered_at DESC, d.id DESC
    ) AS nth
    FROM touched JOIN notifications_device d
        ON d.project_id = touched.project_id AND {installation("d")} = touched.fid
    WHERE d.retired_at IS NULL AND {shows("d")}
), older AS (
    SELECT d.id FROM notifications_device d JOIN numbered USING (id)
    WHERE nth > 1 ORDER BY d.kind, d.address FOR NO KEY UPDATE OF d
)
UPDATE notifications_device d
SET retired_at = %(now)s, retired_reason = '{REPLACED}', retired_by = ''
FROM older WHERE d.id = older.id AND d.retired_at IS NULL
"""


def retire_older(device_ids: Iterable[int], *, now: datetime) -> int:
    """Of the installations of these devices only one address receives from now on.

    For whoever writes devices past `register`, in the same transaction. How many were retired.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            RETIRE_OLDER, {"ids": list(device_ids), "now": now, "fid": f"^{FID.pattern}$"}
        )
        retired: int = cursor.rowcount
    return retired


# Whoever registers one of an installation waits for whoever registers another of it at the same
# moment, or neither would see the other. Before the statement that registers, as that sees what was
# there when it began; after the people are locked and before any device is. Of so many that a
# thousand phones in one call stay within what PostgreSQL can lock. In order: nobody waits in a
# circle.
TURNS = """
SELECT {lock}(%(project)s::int, turn) FROM (
    SELECT DISTINCT (hashtextextended(installation, 0) & 255)::int AS turn
    FROM ({shown}) shown ORDER BY turn
) turns
"""


def take_turns(
    project_id: int, shown: str, values: dict[str, Any], *, shared: bool = False
) -> None:
    """`shown`: a SELECT of the installations, each as text. `shared`: with others who share them,
    and who know that they register none of the same; everybody else waits."""
    lock = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
    with connection.cursor() as cursor:
        cursor.execute(TURNS.format(lock=lock, shown=shown), {"project": project_id, **values})
