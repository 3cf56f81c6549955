"""What F68 must notice, and parts so small that a few thousand are frozen as millions are."""

from __future__ import annotations

from datetime import datetime

from django.db import connection

from tests.chaos.bug import bug, patch


@bug("small parts", fault="")
def _small_parts() -> None:
    """So that three thousand people are frozen as millions are."""
    from campaigns.engine import freezing

    patch(freezing, "DEVICES_AT_ONCE", 400)


@bug("the first part is everybody", fault="F5f")
def _the_first_part_is_everybody() -> None:
    """Nobody remembers that there are more to freeze."""
    from campaigns.engine import freezing
    from campaigns.runs.run import Run

    begin = freezing._begin

    def begin_and_end(run: Run, now: datetime) -> None:
        begin(run, now)
        Run.objects.filter(pk=run.pk).update(unfrozen=None)

    patch(freezing, "_begin", begin_and_end)


@bug("holds the run while it freezes", fault="F68")
def _holds_the_run() -> None:
    """Whoever wants to pause or to cancel it waits for a part."""
    from django.db import transaction

    from campaigns.engine import freezing
    from campaigns.runs.run import Run

    go_on = freezing.freeze_next

    def hold_and_go_on(run_id: int, *, now: datetime) -> None:
        with transaction.atomic():
            Run.objects.select_for_update(no_key=True).get(pk=run_id)
            go_on(run_id, now=now)

    patch(freezing, "freeze_next", hold_and_go_on)


@bug("keeps the part of a cancelled run", fault="F68")
def _keeps_the_part() -> None:
    """What was being written when somebody cancelled is added, and nobody closes it."""
    from django.db.models import F

    from campaigns.engine import freezing
    from campaigns.runs.run import Run

    keep = freezing._keep

    def keep_anyway(run: Run, part: freezing.Part, **values: object) -> None:
        try:
            keep(run, part, **values)
        except Run.InvalidMove:
            grown = Run.objects.filter(pk=run.pk)
            grown.update(planned=F("planned") + part.recipients, **values)

    patch(freezing, "_keep", keep_anyway)


@bug("parts follow the people", fault="F68m")
def _parts_follow_the_people() -> None:
    """A device that moves between two parts is in both, or in neither."""
    from campaigns.audiences.behavior.kind import Sql
    from campaigns.engine import freezing
    from campaigns.runs.run import Run

    found = freezing._found
    contacts = "SELECT id FROM notifications_contact WHERE project_id = %s AND id >= %s"

    def by_person(run: Run, ids: range) -> Sql:
        sql = found(run, ids)
        return Sql(
            sql.sql.replace("d.id >=", "d.contact_id >=").replace("d.id <", "d.contact_id <"),
            sql.params,
        )

    def begin_of_next(run: Run, ids: range) -> int | None:
        with connection.cursor() as cursor:
            cursor.execute(
                f"{contacts} ORDER BY id OFFSET %s LIMIT 1",
                [run.project_id, ids.start, freezing.DEVICES_AT_ONCE],
            )
            row = cursor.fetchone()
        return row[0] if row else None

    patch(freezing, "_found", by_person)
    patch(freezing, "_begin_of_next", begin_of_next)
    patch(freezing, "_end_of_devices", lambda run: 2**63 - 1)
