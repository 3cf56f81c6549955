"""Whatever happens to a run, in whatever order: everybody ends in one row, and nothing is hidden.

Random launches, sends, deaths, lapses, pauses, cancellations and clock jumps on a real PostgreSQL;
an independent witness behind the gateway's seam counts what left.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any, NamedTuple
from unittest import mock

import pytest
from django.db import connection, transaction
from django.utils import timezone
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from campaigns import control
from campaigns.corrections.change_running_text import NewText
from campaigns.engine import engine, freezing
from campaigns.results import reports
from campaigns.runs import claiming, sums
from campaigns.runs.claiming import Fenced
from campaigns.runs.ledger import Retry, Window
from campaigns.runs.reasons import Cause
from campaigns.runs.revisions import shares
from campaigns.runs.run import MOVES, Run
from campaigns.sending import sending
from campaigns.sending import worker_database as rows
from notifications.fcm.verdicts import (
    ACCEPTED,
    NEVER_LEFT,
    NO_ANSWER,
    NOT_STARTED,
    Ruling,
    classify,
)
from notifications.gateway import Arrived, Outcome, Permit, Push, Verdict
from tests.given.builders import make_people, make_project, make_run
from tests.given.by_hand import let_leases_lapse
from tests.given.forgetting import flush_gate

# `make chaos` asks for the full profile.
EXAMPLES, STEPS = (500, 50) if os.environ.get("PROFILE") == "full" else (25, 25)
PEOPLE = 12
CHUNK = 4
ONE_OF_THEM = st.integers(0, 59)  # of 1 to 5, as a remainder
UNAVAILABLE = classify(503, b"")[0]
Row = dict[str, Any]
TABLES = ("run", "runrevision", "recipient", "delivery", "chunk", "wave", "window", "retry")
ROWS = " UNION ALL ".join(
    f"SELECT '{table}', coalesce(jsonb_agg(each ORDER BY to_jsonb(each)), '[]')"
    f" FROM campaigns_{table} each WHERE {'id' if table == 'run' else 'run_id'} = %(run)s"
    for table in TABLES
)
RULINGS = [
    *(ACCEPTED, NOT_STARTED, NO_ANSWER, NEVER_LEFT, UNAVAILABLE, classify(500, b"")[0]),
    *(classify(429, b"")[0], classify(418, b"")[0], classify(400, b"")[0]),
    Ruling(Verdict.DEAD_ADDRESS, "unregistered", Arrived.NO),
    Ruling(Verdict.FOREIGN_ADDRESS, "other_project", Arrived.NO),
    Ruling(Verdict.PLATFORM_KEY, "platform_key", Arrived.NO),
]


class Seen(NamedTuple):
    """What the last step may have changed."""

    rows: dict[str, list[Row]]  # by table
    now: datetime
    received: int
    may_have_arrived: int


class Witness:
    """A gateway that answers as told and remembers whom a message reached."""

    def __init__(self, storms: int) -> None:
        self.storms = storms  # of ten
        self.received: Counter[str] = Counter()
        self.may_have_arrived: Counter[str] = Counter()
        self.said: dict[str, list[str]] = defaultdict(list)  # the title of each request that left
        self.dice = random.Random(0)

    async def send(self, messages: Sequence[Push], permit: Permit) -> list[Outcome]:
        return [self._answer(message, permit) for message in messages]

    def _answer(self, message: Push, permit: Permit) -> Outcome:
        ruling = self.dice.choice([*RULINGS, *[ACCEPTED] * 4, *[UNAVAILABLE] * self.storms])
        ruling = ruling if permit.valid else NOT_STARTED
        if ruling is not NOT_STARTED:
            self.said[message.reference].append(message.title)
        reached = ruling.arrived is Arrived.YES
        if ruling.arrived is Arrived.MAYBE:
            reached = self.dice.random() < 0.5  # it may have been accepted; nobody can say
        self.received[message.reference] += reached
        self.may_have_arrived[message.reference] += ruling.arrived is not Arrived.NO
        return Outcome(
            reference=message.reference,
            verdict=ruling.verdict,
            arrived=ruling.arrived,
            reason=ruling.reason,
        )


class Life(RuleBasedStateMachine):
    """A run's life, as the world may treat it."""

    policy = "resend"
    devices_at_once = PEOPLE  # frozen in one part
    storms = 0
    run_id: int  # it lives as often as there are examples: each ends with a rollback

    @classmethod
    def begin(cls) -> None:
        project = make_project()
        make_people(project, PEOPLE)
        cls.run_id = make_run(project, on_unknown=cls.policy, advanced=False).pk
        cls.look_after(timezone.now())

    @classmethod
    def look_after(cls, now: datetime) -> None:
        with (
            mock.patch.object(freezing, "size_for", lambda _: CHUNK),
            mock.patch.object(freezing, "DEVICES_AT_ONCE", cls.devices_at_once),
        ):
            engine.advance(cls.run_id, now=now)

    def __init__(self) -> None:
        super().__init__()
        self.undo = transaction.atomic()
        self.undo.__enter__()
        flush_gate()
        self.witness = Witness(self.storms)
        self.now = timezone.now()
        self.launched = self.run.content
        self.texts = {1: "Hello Ada"}  # by revision, as everybody reads it
        self.fences: dict[int, int] = {}
        self.frozen: list[int] = []
        self.sent_again = 0
        self.seen = Seen({}, self.now, 0, 0)  # after the last step
        self.idle: Seen | None = None  # before the last look

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.undo.__exit__(None, None, None)

    @property
    def run(self) -> Run:
        return Run.objects.get(pk=self.run_id)

    # --- What may happen --------------------------------------------------------------------------

    @rule()
    def advance(self) -> None:
        """Once more after a look that changed nothing, and then not before anything else does."""
        if self.seen != self.idle:
            self.idle = self.seen
            self.look_after(self.now)

    @rule(
        which=ONE_OF_THEM,
        twice=st.sampled_from([False, False, False, True]),
        stale=st.sampled_from([0, 0, 0, 1]),
        seed=st.integers(0, 2**32),
    )
    def send(self, which: int, twice: bool, stale: int, seed: int) -> None:
        """A doorbell may ring twice, and late."""
        chunks = self.chunks() if twice else self.chunks("queued")
        if chunks:
            self._send(chunks[which % len(chunks)], stale, seed)

    def _send(self, number: int, stale: int, seed: int) -> None:
        flush_gate()  # a closed one would let nobody through, and this is not about the pace
        self.witness.dice.seed(seed)
        before = {ref: len(titles) for ref, titles in self.witness.said.items()}
        with mock.patch.object(rows, "gateway_of", lambda project: self.witness):
            sending.send(self.run_id, number, self.run.epoch - stale)
        said = [
            t for ref, titles in self.witness.said.items() for t in titles[before.get(ref, 0) :]
        ]
        assert set(said) <= {self.texts[self.run.revision]}, "an older text left"

    @rule(which=ONE_OF_THEM, reached=st.booleans())
    def die_in_flight(self, which: int, reached: bool) -> None:
        if queued := self.chunks("queued"):
            self._die_in_flight(queued[which % len(queued)], reached)

    def _die_in_flight(self, number: int, reached: bool) -> bool:
        """A worker claims, opens a window, perhaps sends it, and is never heard of again."""
        claim = claiming.claim(self.run_id, number, self.run.epoch, task_id=None)
        if claim is None:
            return False
        left = [each for each in rows.choose_recipients(claim) if not each.out][:2]
        Window.objects.create(
            run=claim.run, chunk=claim.chunk, attempt=claim.chunk.attempt,
            seqs=[each.seq for each in left], opened_at=self.now, revision=claim.run.revision,
        )  # fmt: skip
        for each in left:
            self.witness.said[each.reader.reference].append(self.texts[claim.run.revision])
            self.witness.received[each.reader.reference] += reached
            self.witness.may_have_arrived[each.reader.reference] += 1
        self.zombie = claim
        return True

    @rule(which=ONE_OF_THEM, reached=st.booleans(), seed=st.integers(0, 2**32))
    def another_takes_over(self, which: int, reached: bool, seed: int) -> None:
        queued = self.chunks("queued")
        if queued and self._die_in_flight(number := queued[which % len(queued)], reached):
            self.leases_lapse()
            self.look_after(self.now)
            self._send(number, 0, seed)

    def chunks(self, *states: str) -> list[int]:
        found = self.seen.rows["chunk"]
        return [each["number"] for each in found if not states or each["state"] in states]

    @rule()
    def leases_lapse(self) -> None:
        let_leases_lapse()

    @rule()
    def time_passes(self) -> None:
        self.now += timedelta(minutes=20)
        Retry.objects.update(not_before=timezone.now() - timedelta(hours=1))

    @rule()
    def pause(self) -> None:
        self._try(lambda: self.run.pause(Cause.BY_HAND))

    @rule()
    def resume(self) -> None:
        self._try(lambda: control.resume(self.run, by="user:alice"))

    @rule(chance=st.integers(0, 9))
    def cancel(self, chance: int) -> None:
        if chance == 0:
            self._try(lambda: self.run.cancel())

    @rule(chance=st.integers(0, 2))
    def change_the_text(self, chance: int) -> None:
        if chance == 0:
            of = self.run.revision
            new = NewText(of, {"title": f"Text {of + 1}"})
            self._try(lambda: self._say(control.change_text(self.run, new=new, by="user:alice")))

    def _say(self, revision: int) -> None:
        self.texts[revision] = f"Text {revision}"

    @rule()
    def send_again(self) -> None:
        self._try(lambda: self._note(control.send_again(self.run, by="user:alice")))

    def _note(self, count: int) -> None:
        self.sent_again += count > 0

    @rule(chance=st.integers(0, 3))
    def keep_unknown(self, chance: int) -> None:
        if chance == 0:
            control.keep_unknown(self.run, by="user:alice")

    @rule()
    def zombie_wakes(self) -> None:
        zombie = getattr(self, "zombie", None)
        if zombie and not zombie.held.exists():
            with pytest.raises(Fenced):
                zombie.renew()

    def _try(self, move: Callable[[], None]) -> None:
        try:
            move()
        except Run.InvalidMove:
            assert self.run.state in Run.State.values

    # --- What must hold at every moment -----------------------------------------------------------

    @invariant()
    def everything_holds(self) -> None:
        """All of it by one look at the rows after every step, and only if the step changed any."""
        rows, witness = self.rows(), self.witness
        seen = Seen(rows, self.now, witness.received.total(), witness.may_have_arrived.total())
        if seen == self.seen:
            return
        self.seen = seen
        run = self.run
        totals = reports.recount(run)
        self.counters_are_a_recount_of_the_rows(run, totals)
        self.what_is_frozen_never_changes_and_ends_with_everybody(run, rows["recipient"])
        self.each_text_that_it_said_stays_as_it_was(run, rows["runrevision"])
        self.fences_only_grow(rows["chunk"])
        self.an_ended_run_waits_for_nobody(run, totals)
        self.who_got_it_twice_is_marked_and_under_hold_nobody_did(rows["delivery"])
        self.who_got_nothing_is_not_called_accepted(rows["delivery"])
        self.a_row_says_which_text_left_and_nobody_gets_an_older_one_later(run, rows["delivery"])
        self.nobody_is_sent_to_more_often_than_three_times_and_once_more_for_each_click()

    def rows(self) -> dict[str, list[Row]]:
        """Of the run, by table."""
        with connection.cursor() as cursor:
            cursor.execute(ROWS, {"run": self.run_id})
            return {table: json.loads(rows) for table, rows in cursor.fetchall()}

    def counters_are_a_recount_of_the_rows(self, run: Run, totals: sums.Totals) -> None:
        assert sums.totals_of(run) == totals
        assert totals.waiting >= 0

    def what_is_frozen_never_changes_and_ends_with_everybody(
        self, run: Run, rows: list[Row]
    ) -> None:
        frozen = [row["contact_id"] for row in sorted(rows, key=itemgetter("seq"))]
        assert frozen[: len(self.frozen)] == self.frozen
        assert len(set(frozen)) == len(frozen) == run.planned == run.people
        assert len(frozen) == PEOPLE or run.state != Run.State.FINISHED
        self.frozen = frozen

    def each_text_that_it_said_stays_as_it_was(self, run: Run, later: list[Row]) -> None:
        assert run.content == self.launched
        said = {row["number"]: row["content"]["title"] for row in later}
        assert said == {n: said for n, said in self.texts.items() if n > 1}
        assert run.revision == max(self.texts)

    def a_row_says_which_text_left_and_nobody_gets_an_older_one_later(
        self, run: Run, rows: list[Row]
    ) -> None:
        numbers = {said: number for number, said in self.texts.items()}
        for reference, titles in self.witness.said.items():
            left = [numbers[title] for title in titles]
            assert left == sorted(left), reference
        for row in rows:
            titles = self.witness.said.get(f"{self.run_id}:{row['seq']}", [])
            if row["status"] == "accepted":
                assert row["revision"] == numbers[titles[-1]]
            elif row["status"] == "unknown":  # or newer: of a request that did not leave after all
                assert row["revision"] >= numbers[titles[-1]]
        told = Counter((row["revision"], row["status"]) for row in rows)
        counts = shares.by_revision(run)
        assert told == +Counter({(n, s): c for n, of in counts.items() for s, c in of.items()})

    def fences_only_grow(self, chunks: list[Row]) -> None:
        for each in chunks:
            assert each["attempt"] >= self.fences.get(each["number"], 0)
            self.fences[each["number"]] = each["attempt"]

    def an_ended_run_waits_for_nobody(self, run: Run, totals: sums.Totals) -> None:
        assert totals.waiting == 0 or not run.finished_at

    def who_got_it_twice_is_marked_and_under_hold_nobody_did(self, rows: list[Row]) -> None:
        twice = {seq for seq, times in self.received().items() if times > 1}
        assert not [row for row in rows if row["seq"] in twice and not row["resent"]]
        assert not twice or self.policy == "resend" or self.sent_again

    def nobody_is_sent_to_more_often_than_three_times_and_once_more_for_each_click(self) -> None:
        most = 3 if self.policy == "resend" else 1
        assert max(self.witness.may_have_arrived.values(), default=0) <= most + self.sent_again

    def who_got_nothing_is_not_called_accepted(self, rows: list[Row]) -> None:
        accepted = {row["seq"] for row in rows if row["status"] == "accepted"}
        assert accepted <= set(self.received())

    def received(self) -> Counter[int]:
        """How often each number was received, according to the witness."""
        seqs = {ref: int(ref.partition(":")[2]) for ref in self.witness.received}
        return +Counter({seqs[ref]: times for ref, times in self.witness.received.items()})


class LifeUnderHold(Life):
    policy = "hold"


class LifeInAStorm(Life):
    """FCM fails at every other request, and has taken half of those."""

    storms = 10


class LifeInParts(Life):
    """Frozen in three parts: five devices, five, and two."""

    devices_at_once = 5


@pytest.mark.parametrize("life", [Life, LifeUnderHold, LifeInAStorm, LifeInParts])
def test_no_order_of_events_loses_anyone_or_hides_a_second_copy(db: None, life: Any) -> None:
    life.begin()
    run_state_machine_as_test(
        life,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_every_state_can_be_reached_and_ends_are_final() -> None:
    assert set(MOVES) == set(Run.State)
    starts = {state for sources in MOVES.values() for state in sources}
    assert Run.State.CANCELLED not in starts
    again = [state for state, sources in MOVES.items() if Run.State.FINISHED in sources]
    assert again == [Run.State.SENDING], "by a person, to whom the outcome is unknown of"
