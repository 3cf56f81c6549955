"""The current state of a person for a run: the run's rules, their consent and their devices.

It does not say how it was when the run was frozen, unless it cannot have changed since.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connection
from django.utils.translation import gettext as _

from campaigns.audiences import why as asking
from campaigns.audiences.behavior import past
from campaigns.audiences.bounds import AS_KEPT, leaves
from campaigns.audiences.resolving.covered_runs import forgotten
from campaigns.audiences.why import InOrOut
from campaigns.audiences.words import broken
from campaigns.runs.run import Run
from notifications.people.consent import eligibility
from notifications.people.consent.change import ConsentChange
from notifications.people.consent.suppression import suppression_of
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.postgres.budget import TooSlow, statement_timeout

ASKING_SECONDS = 1.0
MOST_DEVICES = 50  # shown; a test phone may collect many


class Fate(StrEnum):
    """What is known of a device that was not in the snapshot."""

    RETIRED = "retired"  # before the snapshot, for certain
    UNSEEN = "unseen"  # for longer than the project then allowed, for certain
    LATER = "later"  # registered, or registered again, after it: nobody knows which
    FREE = "free"  # nothing is known that kept it out


@dataclass(frozen=True)
class Seen:
    """One of the person's devices, and whether the rules select it now (None: not checked)."""

    device: Device
    fate: Fate
    selected: bool | None


@dataclass(frozen=True)
class Consent:
    """Whether the person may be sent such a message now; `changed_at`: when that last changed."""

    reason: str  # of standing.REASONS; empty: they may
    changed_at: datetime | None


@dataclass(frozen=True)
class Now:
    at: datetime
    ruled: InOrOut | None  # None: the rules cannot be checked any more, or there are none
    problem: str
    consent: Consent
    devices: list[Seen]


def how_they_stand(run: Run, contact: Contact, now: datetime, *, asks: dict[str, Any]) -> Now:
    """The current state of the person. `asks`: the consent that the message's category needs."""
    ruled, problem = _check_rules(run, contact)
    selected = {judged.device.pk: judged.selected for judged in ruled.devices} if ruled else {}
    devices = contact.devices.order_by("-last_seen_at", "pk")[:MOST_DEVICES]
    seen_devices = [
        Seen(device, _find_fate(device, run), selected.get(device.pk)) for device in devices
    ]
    return Now(now, ruled, problem, _find_consent(contact, asks), seen_devices)


def _check_rules(run: Run, contact: Contact) -> tuple[InOrOut | None, str]:
    """Check the run's rules with the same SQL that froze it, or say why that is impossible."""
    if run.kind == Run.Kind.MESSAGES:
        return None, ""
    if problem := broken(run.rules, AS_KEPT):
        return None, f"{problem}."
    if _ask_forgotten(run):
        return None, _("The rules ask for runs whose recipients were removed.")
    try:
        with statement_timeout(seconds=ASKING_SECONDS):
            return asking.verdict(contact, run.rules, frozen=run.planned is not None), ""
    except TooSlow:
        return None, _("The rules take too long to be asked.")
    except ValidationError as error:  # they name a list or an audience that is gone
        return None, " ".join(error.messages)


def _ask_forgotten(run: Run) -> bool:
    """Whether the rules need runs whose recipients were removed: nobody would count as in them."""
    past_runs = [leaf["value"] for leaf in leaves(run.rules) if leaf["field"] == past.FIELD]
    return any(forgotten(run.project_id, value) for value in past_runs)


def _find_fate(device: Device, run: Run) -> Fate:
    """The fate of a device, as far as it is certain.

    A retired device may have been active in between, and one that was seen since may not have been
    seen then.
    """
    began, ended = run.started_at, run.evaluated_at or run.started_at
    if began and device.retired_at and device.retired_at <= began:
        return Fate.RETIRED
    if run.seen_since and device.last_seen_at < run.seen_since:
        return Fate.UNSEEN
    if ended and device.registered_at > ended:
        return Fate.LATER
    return Fate.FREE


OUT = f"""
SELECT {eligibility.skip_reason_sql()} FROM notifications_contact c {eligibility.JOIN}
WHERE c.id = %(contact)s
"""


def _find_consent(contact: Contact, asks: dict[str, Any]) -> Consent:
    with connection.cursor() as cursor:
        cursor.execute(OUT, {**asks, "contact": contact.pk})
        row = cursor.fetchone()
    if row is None:
        raise Contact.DoesNotExist
    (reason,) = row
    if suppressed := suppression_of(contact):
        return Consent(reason, suppressed.at)
    changes = ConsentChange.objects.filter(contact=contact, category__in=["", asks["category"]])
    return Consent(reason, changes.order_by("-pk").values_list("at", flat=True).first())
