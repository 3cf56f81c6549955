"""What a run leaves in its people's inboxes, as their devices are settled."""

from __future__ import annotations

from collections.abc import Iterable

from campaigns.runs.claiming import Claim
from campaigns.runs.reasons import Reason
from campaigns.sending.inbox.item import item_of
from campaigns.sending.left import Left
from notifications.inbox.storing import store, withdraw

ON_PURPOSE = (Reason.CONTROL, Reason.HOLDOUT)  # they get nothing, wherever it is


def keep(claim: Claim, people: Iterable[Left]) -> None:
    """In the transaction that settles them. A person's second device, a second try and another
    worker all come here again: the reference makes it one item. It has the newest text that was
    written for them. A correction also withdraws the items that it replaces.
    """
    people = [left for left in people if left.out not in ON_PURPOSE]
    if wrong := claim.run.replaced_runs():
        withdraw([left.contact_id for left in people], [reference_of(run) for run in wrong])
    found = [
        item_of(
            left.terms.renderer,
            left.reader,
            contact_id=left.contact_id,
            reference=reference_of(claim.run.pk),
            category=claim.asks["category"],
            revision=left.terms.revision,
        )
        for left in people
    ]
    store(claim.run.project_id, [item for item in found if item])


def reference_of(run_id: int) -> str:
    """Under which a run's item is stored; rules on past runs find it by the same."""
    return f"run {run_id}"
