"""The people a run of the benchmark goes to: as many as asked for, in two locales, one phone each.

Made by PostgreSQL itself, in place of the demo's: a million in half a minute. Every address lives,
so that the rate is not one of errors; the tests and the chaos profiles are about those.
"""

from __future__ import annotations

from typing import Any

import psycopg

from bench.stack import Stack

TEMPLATE: dict[str, Any] = {
    "name": "Bench: autumn run",
    "title": "{{ first_name }}, the autumn run is open",
    "body": "See you in {{ city }}! You have {{ points }} points: members on {{ plan }} start "
    "first.",
    "link": "https://example.com/autumn-run",
    "data": {"screen": "event", "event": "autumn-run"},
    "locales": {
        "ko": {
            "title": "{{ first_name }}님, 가을 러닝이 열렸어요",
            "body": "{{ city }}에서 만나요! {{ points }} 포인트가 있어요.",
        }
    },
}
CONTACTS = """
INSERT INTO notifications_contact
    (project_id, external_id, attributes, locale, timezone, created_at, updated_at)
SELECT p.id, 'b' || n, jsonb_build_object(
        'first_name', (ARRAY['Olivia', '민준', 'Liam', '서연', 'Emma', '지우'])[1 + n %% 6],
        'city', (ARRAY['Boston', 'Seoul', 'Atlanta', 'Busan'])[1 + n %% 4],
        'plan', (ARRAY['free', 'free', 'plus', 'pro'])[1 + n %% 4],
        'points', n %% 5000, 'age', 16 + n %% 60),
    (ARRAY['en', 'ko'])[1 + n %% 2], (ARRAY['America/New_York', 'Asia/Seoul'])[1 + n %% 2],
    now() - n %% 300 * interval '1 day', now()
FROM notifications_project p, generate_series(%(first)s::int, %(last)s::int) n
WHERE p.slug = 'demo'
"""
DEVICES = """
INSERT INTO notifications_device
    (project_id, contact_id, kind, address, platform, app_version, registered_at, last_seen_at,
     retired_reason, retired_by)
SELECT project_id, id, 'token',
    substr(md5(id::text), 1, 22) || ':APA91b' || repeat(md5(external_id), 4) || 'token0',
    (ARRAY['android', 'ios', 'android', 'ios', 'android'])[1 + id %% 5], '5.1.3', created_at,
    updated_at, '', ''
FROM notifications_contact c
WHERE NOT EXISTS (SELECT FROM notifications_device d WHERE d.contact_id = c.id)
"""


def fill(stack: Stack, count: int) -> None:
    """Exactly so many; runs of before keep their recipients, whom nobody can look up any more."""
    with psycopg.connect(stack.superusers_url(), autocommit=True) as connection:
        there = _count(connection)
        if there > count or not _ours(connection):
            connection.execute("TRUNCATE notifications_contact, notifications_device CASCADE")
            there = 0
        if there < count:
            connection.execute(CONTACTS, {"first": there + 1, "last": count})
            connection.execute(DEVICES, {})
        connection.execute("VACUUM ANALYZE notifications_contact, notifications_device")
        connection.execute("CHECKPOINT")  # what was written for us shall not be charged to the run


def _count(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute("SELECT count(*) FROM notifications_contact").fetchone()
    assert row is not None
    return int(row[0])


def _ours(connection: psycopg.Connection[Any]) -> bool:
    first = "SELECT 1 FROM notifications_contact WHERE external_id = 'b1'"
    return connection.execute(first).fetchone() is not None


def campaign(stack: Stack) -> int:
    """A campaign is launched once, so each round has one of its own."""
    wanted = {"audience": _everyone(stack), "template": _template(stack)}
    name = f"Bench {len(stack.api('GET', 'campaigns')['results'])}"
    made = stack.api("POST", "campaigns", {"name": name, **wanted})
    return int(made["id"])


def _everyone(stack: Stack) -> int:
    audiences = stack.api("GET", "audiences")["results"]
    return int(next(each["id"] for each in audiences if each["name"] == "Everyone"))


def _template(stack: Stack) -> int:
    templates = stack.api("GET", "templates")["results"]
    known = [each["id"] for each in templates if each["name"] == TEMPLATE["name"]]
    return int(known[0] if known else stack.api("POST", "templates", TEMPLATE)["id"])
