"""Inbox items of runs: stored when the outcomes of people's devices are written."""

from __future__ import annotations

from collections.abc import Iterable

from campaigns.runs.claiming import Claim
from campaigns.runs.reasons import Reason
from campaigns.sending.inbox.item import item_of
from campaigns.sending.left import UnsettledRecipient
from notifications.inbox.storing import store, withdraw

ON_PURPOSE = (Reason.CONTROL, Reason.HOLDOUT)  # they get nothing, not even an inbox item


def keep(claim: Claim, people: Iterable[UnsettledRecipient]) -> None:
    """Store the items of a run's people, in the transaction that settles them.

    A person's second device, a second try and another worker all come here again: the reference
    makes it one item. It has the newest text that was written for them. A correction also withdraws
    the items that it replaces.
    """
    people = [left for left in people if left.out not in ON_PURPOSE]
    if wrong := claim.run.replaced_runs():
        withdraw([left.contact_id for left in people], [reference_of(run) for run in wrong])
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
    ]
    store(claim.run.project_id, [item for item in items if item])


def reference_of(run_id: int) -> str:
    """The reference under which a run's items are stored, and by which audience rules on past runs
    find them."""
    return f"run {run_id}"
