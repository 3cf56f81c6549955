"""Why a person got a run's message, or not: all that is known, as codes and rows.

`sentence.py` and the modules beside it put it into words.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from campaigns.canary.first_part import held
from campaigns.results.why.current_state import Fate, Now, how_they_stand
from campaigns.results.why.rows import Row, rows_of
from campaigns.runs import prior_recipients
from campaigns.runs.ledger import Delivery
from campaigns.runs.messages.message import Message
from campaigns.runs.run import Run
from notifications.people.consent import eligibility
from notifications.people.contact import Contact
from notifications.values.moments import in_zone

MAX_MESSAGES = 100  # to one person on one day


class Ending(StrEnum):
    """What came of the run for the person; the answer begins with it."""

    ACCEPTED = "accepted"
    PARTLY = "partly"  # on some of their devices
    REJECTED = "rejected"
    SKIPPED = "skipped"
    UNKNOWN = "unknown"
    WAITING = "waiting"
    NOT_IN = "not_in"
    NO_DEVICE = "no_device"  # a message to a person who had none
    NOT_SENT = "not_sent"  # a message that waits for its time, or was cancelled
    NOT_YET = "not_yet"  # the recipients were not chosen yet, or not all of them
    NOBODY = "nobody"  # the run was cancelled before anybody was chosen
    FORGOTTEN = "forgotten"  # the rows were removed: nobody can know


class Cause(StrEnum):
    """What kept the person out. The first that fits is taken; certain ones come first."""

    PERSON_LATER = "person_later"
    NO_DEVICE = "no_device"
    RETIRED = "retired"
    UNSEEN = "unseen"
    HAD_IT = "had_it"  # in an earlier run, for certain
    DEVICE_LATER = "device_later"
    RULES = "rules"  # they do not match now
    RULES_UNASKED = "rules_unasked"
    NOTHING_NOW = "nothing_now"  # everything would let them in now


@dataclass(frozen=True)
class Why:
    run: Run
    contact: Contact
    ending: Ending
    cause: Cause | None  # if they are not in it
    rows: list[Row]
    messages: list[Message]  # theirs, in a run of messages
    now: Now
    follows: bool = False  # all their waiting rows wait for the first part

    @property
    def is_in(self) -> bool | None:
        """Whether the person is in the run; None: it cannot be known, or not yet."""
        if self.rows:
            return True
        unsure = (Ending.NOT_YET, Ending.FORGOTTEN)
        return None if self.ending in unsure else False

    @property
    def brought_before(self) -> Run | None:
        return _brought_before(self.run, self.contact)

    @property
    def frozen_at(self) -> datetime | None:
        """When the last of the run's people was chosen."""
        return self.run.evaluated_at or self.run.started_at

    @property
    def changed_since(self) -> bool:
        """Whether the person's own row was written after the freeze."""
        return bool(self.frozen_at and self.contact.updated_at > self.frozen_at)

    def when(self, moment: datetime | None) -> str:
        """The moment on the project's clock, with its zone, as the whole answer shows times."""
        return in_zone(moment, self.run.project.timezone, seconds=True)


def why(run: Run, contact: Contact, *, now: datetime) -> Why:
    """Find all that is known. Raises Contact.DoesNotExist if the person was erased meanwhile."""
    rows = [] if run.forgotten_at else rows_of(run, contact)
    messages = _load_messages(run, contact)
    stands = how_they_stand(run, contact, now, asks=_consent_params(run, messages))
    ending = _find_ending(run, rows, messages)
    cause = _find_cause(run, contact, stands) if ending == Ending.NOT_IN else None
    follows = ending == Ending.WAITING and _waits_for_first_part(run, rows)
    return Why(run, contact, ending, cause, rows, messages, stands, follows)


def _waits_for_first_part(run: Run, rows: list[Row]) -> bool:
    """Whether the person waits for the first part. All their devices are in it, or none is."""
    if held(run) is None:
        return False
    seq = rows[0].sent.seq
    return run.chunks.filter(follows=True, first_seq__lte=seq, last_seq__gte=seq).exists()


def _load_messages(run: Run, contact: Contact) -> list[Message]:
    if run.kind != Run.Kind.MESSAGES or run.forgotten_at:
        return []
    theirs = Message.objects.filter(run_id=run.pk, contact_id=contact.pk)
    return list(theirs.defer("content", "variables").order_by("-number")[:MAX_MESSAGES])


def _consent_params(run: Run, messages: list[Message]) -> dict[str, Any]:
    """The consent that is needed: for the newest message in a run of messages, else for the run."""
    if messages:
        return eligibility.skip_reason_params(messages[0].category_kind, messages[0].category)
    return run.asks


def _find_ending(run: Run, rows: list[Row], messages: list[Message]) -> Ending:
    if run.forgotten_at:
        return Ending.FORGOTTEN
    if rows:
        return _ending_of_statuses([row.sent.status for row in rows])
    if messages:
        is_taken = any(message.state == Message.State.TAKEN for message in messages)
        return Ending.NO_DEVICE if is_taken else Ending.NOT_SENT
    if run.planned is None:
        return Ending.NOBODY if run.state == Run.State.CANCELLED else Ending.NOT_YET
    return Ending.NOT_YET if run.freezing else Ending.NOT_IN


def _ending_of_statuses(statuses: list[str]) -> Ending:
    """The ending for several devices: the best one for the person, if they differ."""
    count = Counter(statuses)
    if count[Delivery.Status.ACCEPTED]:
        whole = count[Delivery.Status.ACCEPTED] == len(statuses)
        return Ending.ACCEPTED if whole else Ending.PARTLY
    best = (Delivery.Status.UNKNOWN, "", Delivery.Status.REJECTED, Delivery.Status.SKIPPED)
    best_status = next(status for status in best if count[status])
    return Ending(best_status or Ending.WAITING)


def _find_cause(run: Run, contact: Contact, stands: Now) -> Cause | None:
    if run.kind == Run.Kind.MESSAGES:
        return None
    frozen_at = run.evaluated_at or run.started_at
    if frozen_at and contact.created_at > frozen_at:
        return Cause.PERSON_LATER
    if _brought_before(run, contact):
        return Cause.HAD_IT
    return _cause_of_devices(stands) or _cause_of_rules(stands)


def _brought_before(run: Run, contact: Contact) -> Run | None:
    """The earlier run that brought them the campaign, if it is sent once per person."""
    if not (run.once_each and run.campaign_id):
        return None
    brought = prior_recipients.first_run(run.campaign_id, contact.pk)
    return brought if brought and brought.pk < run.pk else None


def _cause_of_devices(stands: Now) -> Cause | None:
    """The cause, if the person has no devices, or if all of them were left out; else None."""
    fates = {device.fate for device in stands.devices}
    if not fates:
        return Cause.NO_DEVICE
    if fates <= {Fate.RETIRED, Fate.UNSEEN}:
        return Cause.UNSEEN if Fate.UNSEEN in fates else Cause.RETIRED
    return None


def _cause_of_rules(stands: Now) -> Cause:
    if stands.ruled is not None and not stands.ruled.is_in:
        return Cause.RULES
    if all(device.fate != Fate.FREE for device in stands.devices):
        return Cause.DEVICE_LATER
    return Cause.NOTHING_NOW if stands.ruled is not None else Cause.RULES_UNASKED
