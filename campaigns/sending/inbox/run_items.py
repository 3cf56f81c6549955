"""Inbox items of runs: stored when the outcomes of people's devices are written."""

from __future__ import annotations

from collections.abc import Iterable

from campaigns.runs.claiming import Claim
from campaigns.runs.reasons import Reason
from campaigns.runs.run import Run
from campaigns.sending.inbox.item import item_of
from campaigns.sending.unsettled import UnsettledRecipient
from notifications.inbox.storing import contacts_with, store, withdraw

ON_PURPOSE = (Reason.CONTROL, Reason.HOLDOUT)  # they get nothing, not even an inbox item


def keep(claim: Claim, people: Iterable[UnsettledRecipient]) -> None:
    """Store the items of a run's people, in the transaction that settles them.

    A person's second device, a second try and another worker all come here again: the reference
    makes it one item. It has the newest text that was written for them. A correction also withdraws
    the items that it replaces. A person who has the item of a newer correction keeps that one.
    """
    people = [left for left in people if left.out not in ON_PURPOSE]
    contacts = [left.contact_id for left in people]
    older, newer = references_beside(claim.run)
    if older:
        withdraw(contacts, older)
    corrected = contacts_with(contacts, newer) if newer else ()
    items = [
        item_of(
            left.settings.renderer,
            left.reader,
            contact_id=left.contact_id,
            reference=reference_of(claim.run.pk),
            category=claim.asks["category"],
            revision=left.settings.revision,
        )
        for left in people
        if left.contact_id not in corrected
    ]
    store(claim.run.project_id, [item for item in items if item])


def references_beside(run: Run) -> tuple[list[str], list[str]]:
    """The references of older runs, whose items this run replaces, and of newer corrections."""
    family = run.text_family()
    older = [reference_of(pk) for pk in family if pk < run.pk]
    return older, [reference_of(pk) for pk in family if pk > run.pk]


def reference_of(run_id: int) -> str:
    """The reference under which a run's items are stored, and by which audience rules on past runs
    find them."""
    return f"run {run_id}"
