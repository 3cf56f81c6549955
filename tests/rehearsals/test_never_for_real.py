"""No code sends a rehearsal for real, not even a slip of ours."""

from __future__ import annotations

from typing import Any, Literal

import orjson
import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from campaigns.engine import engine
from campaigns.runs.chunk import Chunk
from campaigns.runs.rehearsal import Rehearsal
from campaigns.runs.run import Run
from campaigns.texts.rendering import Reader, Renderer
from notifications.fcm import payload
from notifications.people.project import Project
from tests.given.builders import make_campaign, make_people, make_run, make_template
from tests.rehearsals.shared import ask

pytestmark = pytest.mark.django_db


@pytest.fixture
def going(project: Project) -> Rehearsal:
    """Its first chunk is queued."""
    make_people(project, 2)
    rehearsal = ask(make_campaign(project))
    engine.advance(rehearsal.pk, now=timezone.now())
    rehearsal.run.refresh_from_db()
    return rehearsal


@pytest.mark.parametrize("state", ["sending", "scheduled", "open"])
def test_the_database_refuses_a_rehearsal_any_state_that_is_sent(
    going: Rehearsal, state: str
) -> None:
    with pytest.raises(IntegrityError, match="a_rehearsal_never_sends"), transaction.atomic():
        Run.kept.filter(pk=going.pk).update(state=state)


def test_the_database_refuses_a_campaigns_run_the_state_of_a_rehearsal(project: Project) -> None:
    run = make_run(project)
    with pytest.raises(IntegrityError, match="only_a_rehearsal_rehearses"), transaction.atomic():
        Run.kept.filter(pk=run.pk).update(state="rehearsing")


# What a worker asks before it claims a chunk of a real run, and before each window.
CLAIMS = """
SELECT count(*) FROM campaigns_chunk c JOIN campaigns_run r ON r.id = c.run_id
WHERE r.id = %s AND r.epoch = %s AND r.state = 'sending' AND c.state = 'queued'
"""
WANTS = """
SELECT count(*) FROM campaigns_run
WHERE id = %s AND epoch = %s AND state IN ('sending', 'open')
"""


def asked(sql: str, *values: Any) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        found: int = cursor.fetchone()[0]
    return found


def test_a_statement_for_real_runs_claims_none_of_its_chunks(going: Rehearsal) -> None:
    assert going.run.chunks.filter(state=Chunk.State.QUEUED).exists()
    assert asked(CLAIMS, going.pk, going.run.epoch) == 0
    assert asked(WANTS, going.pk, going.run.epoch) == 0


def test_the_managers_of_real_runs_do_not_know_it(going: Rehearsal) -> None:
    assert not Run.objects.filter(pk=going.pk).exists()
    assert not Run.every.filter(pk=going.pk).exists()
    campaign = going.run.campaign
    assert not campaign.runs.exists()
    assert campaign.current_run() is None


def request(project: Project, mark: Literal["", "only_checked"]) -> dict[str, Any]:
    renderer = Renderer(make_template(project).frozen(), collapse_id="c", mark=mark)
    reader = Reader("1:1", "ada", {"first_name": "Ada"}, "en", "UTC", "token", "a", "android")
    encoded = payload.encode(renderer.render(reader, ttl_seconds=60))
    found: dict[str, Any] = orjson.loads(encoded)
    return found


def test_the_request_itself_says_that_fcm_only_checks(project: Project) -> None:
    assert request(project, "only_checked")["validateOnly"] is True
    assert "validateOnly" not in request(project, "")
