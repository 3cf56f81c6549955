"""What F48–F69 must notice."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tests.chaos.bug import bug, patch


@bug("looks, then launches", fault="F48 F49")
def _looks_then_launches() -> None:
    """Whether it was launched is asked before, not refused by the rows: each click has its own."""
    from uuid import uuid4

    from campaigns.planning import launch
    from campaigns.planning.campaign import Campaign
    from campaigns.runs.run import Run

    freeze = launch.make_run

    def freeze_again(campaign: Campaign, by: str, now: datetime) -> Run:
        run = freeze(campaign, by, now)
        Run.objects.filter(pk=run.pk).update(occurrence=str(uuid4()))
        return run

    patch(launch, "make_run", freeze_again)


@bug("text as it is now", fault="F50")
def _text_as_it_is_now() -> None:
    """Each chunk reads the template, not what was launched."""
    from campaigns.runs import claiming
    from campaigns.runs.claiming import Claim
    from campaigns.sending import sending

    claim = claiming.claim

    def claim_anew(*args: Any, **more: Any) -> Claim | None:
        granted = claim(*args, **more)
        if granted:
            granted.run.content = granted.run.campaign.template.frozen()
        return granted

    patch(sending, "claim", claim_anew)


@bug("windows of no text", fault="F83")
def _windows_of_no_text() -> None:
    """Whoever opens one does not write down what its requests say."""
    from campaigns.runs import claiming

    written = "attempt, wanted.revision, ARRAY"
    assert written in claiming.PROLONG
    patch(claiming, "PROLONG", claiming.PROLONG.replace(written, "attempt, 1, ARRAY"))


@bug("old text under a new number", fault="F50 F83")
def _old_text_under_a_new_number() -> None:
    """A worker that hears of a change goes on with the words that it has, and writes the new
    number."""
    from dataclasses import replace

    from campaigns.sending.sending import Sending
    from campaigns.sending.unsettled import UnsettledRecipient

    def keep_the_words(sending: Sending, revision: int, people: list[UnsettledRecipient]) -> None:
        sending.left.extendleft(reversed(people))
        sending.run.revision = revision
        for left in sending.left:
            left.settings = replace(left.settings, revision=revision)

    patch(Sending, "_read_anew", keep_the_words)


@bug("audience as it was", fault="F52")
def _audience_as_it_was() -> None:
    """Whoever is in the snapshot is sent to, retired or not: neither guard looks at the device."""
    from campaigns.runs import claiming
    from campaigns.sending import unsettled

    gone = (
        "d.id IS NULL OR d.retired_at IS NOT NULL OR d.contact_id <> r.contact_id OR c.id IS NULL"
    )
    for module, name in ((unsettled, "TO_SEND"), (claiming, "PROLONG")):
        statement = getattr(module, name)
        assert gone in statement
        patch(module, name, statement.replace(gone, "d.id IS NULL"))


@bug("deaf to the run's state", fault="F53 F54")
def _deaf() -> None:
    """A worker asks for its lease, not whether anybody still wants the run."""
    from campaigns.runs import claiming

    wanted = "AND epoch = %(epoch)s AND state IN ('sending', 'open', 'rehearsing')"
    assert wanted in claiming.PROLONG
    patch(claiming, "PROLONG", claiming.PROLONG.replace(wanted, "AND %(epoch)s >= 0"))


@bug("retire whoever is called dead", fault="F62")
def _retire_whoever() -> None:
    """Also those that registered again since."""
    from datetime import timedelta

    from notifications.people import device

    retire = device.retire

    def retire_all(ids: Any, *, sent_at: datetime, **more: Any) -> int:
        return retire(ids, sent_at=sent_at + timedelta(days=1), **more)

    patch(device, "retire", retire_all)


@bug("rings with a word more", fault="")
def _rings_with_a_word_more() -> None:
    """As the next release might: its messages carry what today's workers do not know."""
    from campaigns import tasks

    task = tasks.send_chunk
    task.typing = False
    patch(task, "s", lambda **words: task.signature(kwargs={**words, "hint": "x"}))


@bug("understands a word more", fault="")
def _understands_a_word_more() -> None:
    """A worker of that release."""
    from campaigns import tasks

    run = tasks.send_chunk.run
    patch(tasks.send_chunk, "run", lambda *ids, hint="", **named: run(*ids, **named))


@bug("the sweep believes in chords", fault="F63")
def _believes_in_chords() -> None:
    """What was rung once is never rung again."""
    from campaigns.engine import engine

    patch(engine, "_free_lost_chunks", lambda run, now: None)


@bug("what is in use is a surprise", fault="F51")
def _a_surprise() -> None:
    """Whoever deletes what a run stands on is answered 500."""
    from django.db import DataError

    from notifications.api.base import view

    patch(view, "ProtectedError", DataError)


@bug("erases before it looks", fault="F69")
def _erases_before_it_looks() -> None:
    """A device that arrives between the look at a person's devices and the end keeps them both."""
    from django.db.models import Model

    from notifications.people.contact import Contact

    patch(Contact, "delete", Model.delete)
