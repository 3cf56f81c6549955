"""`python -m bench.growth.events N`: N events of the demo's people, and the rules that ask of them.

Inside the stack's environment, after bench/people.py has filled it; prints its numbers as JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from django.db import connection, transaction
from django.utils import timezone

from campaigns.audiences import estimating, reach, why
from notifications.people.contact import Contact
from notifications.people.events import clearing, partitions
from notifications.people.events.months import Month, through
from notifications.people.events.writing import Event, write
from notifications.people.project import Project

DAYS = 90
BATCH = 1_000
BATCHES = 20
# Of the project's people, the newer the more active; six of ten events are “opened”.
EVENTS = """
INSERT INTO notifications_event (project_id, contact_id, at, name, properties)
SELECT %(project)s, ids[1 + floor(cardinality(ids) * power(random(), 1.5))::int],
    %(now)s - interval '1 day' * %(days)s * (1 - n / %(count)s::float),
    (ARRAY['opened', 'opened', 'opened', 'opened', 'opened', 'opened', 'viewed', 'viewed',
        'bought', 'searched'])[1 + floor(random() * 10)::int],
    jsonb_build_object('price', floor(random() * 100)::int,
        'category', (ARRAY['shoes', 'bags', 'hats'])[1 + floor(random() * 3)::int])
FROM (SELECT array_agg(id) AS ids FROM notifications_contact WHERE project_id = %(project)s) p,
    generate_series(1, %(count)s) n
"""


def did(name: str, op: str = "did", **value: Any) -> dict[str, Any]:
    return {"field": "event", "op": op, "value": {"name": name, **value}}


DEAR = {"property": "price", "op": "gte", "value": 10}
RULES = {
    "bought within 7 days": did("bought", within="P7D"),
    "did not buy within 30 days": did("bought", "did_not", within="P30D"),
    "bought 3 times within 30 days": did("bought", at_least=3, within="P30D"),
    "bought for 10 or more within 30 days": did("bought", within="P30D", where=[DEAR]),
    "opened 3 times for 10 or more within 30 days": did(
        "opened", at_least=3, within="P30D", where=[DEAR]
    ),
    "opened 3 times ever": did("opened", at_least=3),
}


def main(count: int) -> None:
    project = Project.objects.get(slug="demo")
    _fill(project, count)
    part = estimating.part()
    one = Contact.objects.filter(project=project).latest("pk")
    found = {
        name: {
            "exact": _best(partial(reach.count, project.pk, tree)),
            "estimate": _best(partial(reach.count, project.pk, tree, part=part)),
            "one": _best(partial(why.explain, one, tree)),
        }
        for name, tree in RULES.items()
    }
    print(json.dumps({"events": count, "rules": found, "batch": _batch(project)}))


def _fill(project: Project, count: int) -> None:
    now = timezone.now()
    with transaction.atomic():
        partitions.make(through(Month.of_moment(now - clearing.AHEAD * 3), Month.of_moment(now)))
    with connection.cursor() as cursor:
        asked: dict[str, Any] = {"project": project.pk, "now": now, "days": DAYS, "count": count}
        cursor.execute(EVENTS, asked)
        cursor.execute("VACUUM ANALYZE notifications_event")


def _best(ask: Callable[[], object]) -> float:
    """Of three: the first reads from the disk, and other programs are not ours to measure."""
    times = []
    for _ in range(3):
        began = time.monotonic()
        ask()
        times.append(time.monotonic() - began)
    return min(times)


def _batch(project: Project) -> float:
    """Seconds for a call's worth of events, in a transaction of its own."""
    people = Contact.objects.filter(project=project).values_list("external_id", flat=True)[:BATCH]
    now = timezone.now()
    events = [Event(person, "bought", now, {"price": 12}) for person in people]
    times = []
    for _ in range(BATCHES):
        began = time.monotonic()
        write(project.pk, events)
        times.append(time.monotonic() - began)
    return sorted(times)[BATCHES // 2]


if __name__ == "__main__":
    main(int(sys.argv[1]))
