"""Kinds: the closed list of what is reported. Each is the `type` of its events."""

from __future__ import annotations

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _


class Kind(TextChoices):
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


# A few a day: these are for people to read. Of the others there may be thousands a second, which
# only a program wants to hear of.
FOR_PEOPLE = (
    Kind.RUN_STARTED,
    Kind.RUN_PAUSED,
    Kind.RUN_NEEDS_A_PERSON,
    Kind.RUN_FINISHED,
    Kind.ALERT_RAISED,
    Kind.ALERT_ENDED,
)
# What a new endpoint is offered: what needs somebody.
OFFERED = (Kind.ALERT_RAISED, Kind.ALERT_ENDED)
# Not asked for by anybody: what an endpoint's page sends, and what other endpoints of the project
# are told of one that was given up.
TEST, DISABLED = "endpoint.test", "endpoint.disabled"


def in_words(kind: str) -> str:
    """During an upgrade the next release may write kinds that we do not know."""
    ours = {TEST: _("A test"), DISABLED: _("An endpoint was disabled")}
    return str(Kind(kind).label if kind in Kind.values else ours.get(kind, kind))
