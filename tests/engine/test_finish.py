"""A run ends when its last chunk is closed, at whatever moment that happens."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from campaigns.engine import engine
from campaigns.runs.chunk import Chunk
from campaigns.runs.ledger import Delivery
from campaigns.runs.run import Run
from campaigns.sending import sending
from notifications.people.project import Project
from tests.given.builders import make_people, make_run
from tests.servers.fcm import Fcm

# A worker closes the chunk in the middle of a step: after the step has seen it open.
CLOSED_MEANWHILE = """
CREATE FUNCTION close_chunks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE campaigns_chunk SET state = 'closed', lease_until = NULL WHERE run_id = NEW.id;
    RETURN NEW;
END $$;
CREATE TRIGGER close_chunks BEFORE UPDATE ON campaigns_run
    FOR EACH ROW EXECUTE FUNCTION close_chunks();
"""
NO_MORE = "DROP FUNCTION close_chunks CASCADE"


@pytest.mark.django_db
def test_a_chunk_that_closes_in_the_middle_of_a_step_asks_nobody(
    project: Project, fcm: Fcm
) -> None:
    make_people(project, 3)
    run = make_run(project)
    sending.send(run.pk, 1, run.epoch)
    now = timezone.now()
    Chunk.objects.update(state=Chunk.State.LEASED, lease_until=now + timedelta(minutes=1))

    with connection.cursor() as cursor:
        cursor.execute(CLOSED_MEANWHILE)
    engine.advance(run.pk, now=now)
    with connection.cursor() as cursor:
        cursor.execute(NO_MORE)

    run.refresh_from_db()
    assert (run.state, run.cause) == (Run.State.SENDING, "")
    engine.advance(run.pk, now=now)
    run.refresh_from_db()
    assert run.state == Run.State.FINISHED


@pytest.mark.django_db
def test_no_row_is_younger_than_the_end(project: Project, fcm: Fcm) -> None:
    make_people(project, 3)
    run = make_run(project)
    called = timezone.now()
    sending.send(run.pk, 1, run.epoch)  # while whoever was called waits for the run

    engine.advance(run.pk, now=called)

    run.refresh_from_db()
    assert run.finished_at is not None
    assert not Delivery.objects.filter(run_id=run.pk, at__gt=run.finished_at).exists()
