"""Event types: the closed list of what is reported. Each is the `type` of its events."""

from __future__ import annotations

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _


class EventType(TextChoices):
    RUN_STARTED = "run.started", _("A run started")
    RUN_PAUSED = "run.paused", _("A run was paused, by somebody or by itself")
    RUN_NEEDS_A_PERSON = "run.needs_a_person", _("A run stopped by itself and needs a person")
    RUN_FINISHED = "run.finished", _("A run ended: finished, or cancelled")
    ALERT_RAISED = "alert.raised", _("An alert, and each hour again until somebody has seen it")
    ALERT_ENDED = "alert.ended", _("An alert is over")
    MESSAGE_ACCEPTED = "message.accepted", _("A message to one person was accepted by FCM")
    MESSAGE_REJECTED = "message.rejected", _("A message to one person was rejected")
    MESSAGE_SKIPPED = "message.skipped", _("A message to one person was skipped")
    MESSAGE_UNKNOWN = "message.unknown", _("Nobody knows whether a message to one person arrived")
    DEVICE_RETIRED = "device.retired", _("A device was retired: its address is dead")
    RECEIPT = "receipt", _("A phone reported what became of a push")
    OPT_OUT = "opt_out", _("A person said no to messages")


# A few a day: these are for people to read. There may be thousands of the others a second, which
# only a program can read.
FOR_PEOPLE = (
    EventType.RUN_STARTED,
    EventType.RUN_PAUSED,
    EventType.RUN_NEEDS_A_PERSON,
    EventType.RUN_FINISHED,
    EventType.ALERT_RAISED,
    EventType.ALERT_ENDED,
)
# The types that a new endpoint is offered: those that need a person.
OFFERED = (EventType.ALERT_RAISED, EventType.ALERT_ENDED)
# No endpoint asks for these. An endpoint's page sends TEST. DISABLED tells other endpoints of the
# project that one was given up.
TEST, DISABLED = "endpoint.test", "endpoint.disabled"


def in_words(kind: str) -> str:
    """The name of an event type. During an upgrade, the next release may write unknown types."""
    ours = {TEST: _("A test"), DISABLED: _("An endpoint was disabled")}
    return str(EventType(kind).label if kind in EventType.values else ours.get(kind, kind))
