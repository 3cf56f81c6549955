"""A cancelled run of millions is closed in steps, one after the other, each under a short lock."""

from __future__ import annotations

import pytest

from campaigns import tasks
from campaigns.engine import cancelling
from campaigns.results import reports
from campaigns.runs import sums
from campaigns.runs.run import Run
from notifications.people.project import Project
from tests.given.builders import make_people, make_run
from tests.servers import beside


@pytest.fixture
def run(transactional_db: None, project: Project, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Cancelled with three chunks, of which a step closes one."""
    monkeypatch.setattr(cancelling, "CHUNKS_AT_ONCE", 1)
    make_people(project, 2_500)
    run = make_run(project)
    run.cancel()
    return run


def test_each_step_enqueues_the_next_until_everyone_has_a_row(
    run: Run, enqueued: list[int]
) -> None:
    tasks.advance(run_id=run.pk)
    steps = 1
    while enqueued:
        tasks.advance(run_id=enqueued.pop())
        steps += 1

    run.refresh_from_db()
    # The fourth counts who they were, for the result page.
    assert (steps, run.finished_at is None, run.skipped) == (4, False, 2_500)
    assert sums.totals_of(run) == reports.recount(run)


def test_nobody_rings_for_chunks_that_only_a_later_step_can_close(
    run: Run, enqueued: list[int]
) -> None:
    """A worker still holds one, and another's row is locked: the next sweep looks again."""
    with beside.connected() as vanished:
        vanished.execute("SELECT FROM campaigns_chunk WHERE number > 1 FOR UPDATE")

        tasks.advance(run_id=run.pk)

    assert enqueued == []
    assert run.chunks.filter(state="closed").count() == 1


def test_nobody_rings_while_another_process_is_at_it(run: Run, enqueued: list[int]) -> None:
    tasks.advance(run_id=run.pk)
    enqueued.clear()
    with beside.connected() as other:
        other.execute("SELECT FROM campaigns_run FOR NO KEY UPDATE")

        assert not cancelling.has_more(run.pk)

    assert cancelling.has_more(run.pk)
