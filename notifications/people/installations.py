"""Installations: two addresses of one app on one phone are one device, and one push.

An app has a Firebase installation ID of 22 letters. Its registration token begins with it, before
the first colon. So a token and the ID itself, or two tokens, are known to be of one installation.
One of them receives, and the others are retired as replaced. An address that the app itself or a
user of the pages registered wins over one that a file or a backend named. Otherwise the address
that was registered last wins.
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
    """The installation ID in an address; None if the address does not show it."""
    fid, colon, _ = address.partition(":")
    has_installation = bool(colon) if kind == "token" else not colon
    return fid if has_installation and FID.fullmatch(fid) else None


def installation(of: str) -> str:
    """SQL: the installation ID of a device. `of`: its alias. An index covers active devices."""
    return f"left({of}.address, {LENGTH})"


def shows(of: str) -> str:
    """SQL: whether the address ends, or has its colon, right after an installation ID."""
    after = f"substr({of}.address, {LENGTH + 1}, 1)"
    return f"{after} = CASE {of}.kind WHEN 'token' THEN ':' ELSE '' END"


def same_installation(one: str, other: str) -> str:
    """SQL: whether two devices have addresses of the same installation."""
    both = f"{shows(one)} AND {shows(other)} AND {installation(one)} = {installation(other)}"
    return f"({both} AND {installation(one)} ~ '^{FID.pattern}$')"


FIRST_HAND = ("app", "page")


def first_hand(of: str) -> str:
    """SQL: whether the app itself, or a user of the pages, registered the device."""
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
    """Retire all but one address of each of these devices' installations. Returns how many.

    For code that writes devices without `register`, in the same transaction.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            RETIRE_OLDER, {"ids": list(device_ids), "now": now, "fid": f"^{FID.pattern}$"}
        )
        retired: int = cursor.rowcount
    return retired


# Transactions that register addresses of one installation take turns: otherwise neither would see
# the other's address. The lock is taken before the statement that registers, as that sees what was
# there when it began; after the people are locked, and before any device is. There are 256 turns of
# a project, so that a thousand phones in one call stay within what PostgreSQL can lock. They are
# taken in order, so that there is no deadlock.
TURNS = """
SELECT {lock}(%(project)s::int, turn) FROM (
    SELECT DISTINCT (hashtextextended(installation, 0) & 255)::int AS turn
    FROM ({shown}) shown ORDER BY turn
) turns
"""


def take_turns(
    project_id: int, shown: str, values: dict[str, Any], *, shared: bool = False
) -> None:
    """Wait until no other transaction registers addresses of these installations.

    `shown`: a SELECT of the installations, each as text. `shared`: share the turns with other
    callers that share them, which must not register the same ones; all others wait.
    """
    lock = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
    with connection.cursor() as cursor:
        cursor.execute(TURNS.format(lock=lock, shown=shown), {"project": project_id, **values})
