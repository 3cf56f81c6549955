"""Reasons: the closed lists of why a recipient was not accepted, or a run waits for a person.

Rows have the code; pages show plain words and a next step.
"""

from __future__ import annotations

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _


class Reason(TextChoices):
    """Why this recipient was rejected, skipped or is unknown."""

    UNREGISTERED = "unregistered", _("App uninstalled or address expired")
    MALFORMED_ADDRESS = "malformed_address", _("Not a valid FCM address")
    OTHER_PROJECT = "other_project", _("Address belongs to another Firebase project")
    REFUSED_MESSAGE = "refused_message", _("FCM refused the message itself")
    INVALID_MESSAGE = "invalid_message", _("This person's message breaks one of FCM's rules")
    UNREADABLE_MESSAGE = "unreadable_message", _("FCM could not read our request")
    PLATFORM_KEY = "platform_key", _("Firebase lacks a valid APNs or web push key")
    THROTTLED = "throttled", _("Still throttled by FCM after the last try")
    DEVICE_THROTTLED = "device_throttled", _("The device still gets too many pushes, says FCM")
    UNAVAILABLE = "unavailable", _("FCM was out of service, and may have taken it")
    SERVER_ERROR = "server_error", _("FCM failed while processing it, and may have taken it")
    UNREACHABLE = "unreachable", _("FCM could not be reached, after the last try")
    UNKNOWN_ANSWER = "unknown_answer", _("FCM gave an unexpected answer")
    MISSING_VALUE = "missing_value", _("A value the text needs is missing for this person")
    TEMPLATE_ERROR = "template_error", _("The text could not be rendered for this person")
    TOO_LONG = "too_long", _("The rendered message is over FCM's 4,096 bytes")
    UNSUBSCRIBED = "unsubscribed", _("This person does not want such messages")
    SUPPRESSED = "suppressed", _("This person is on the suppression list")
    ONLINE = "online", _("This person was looking at their inbox")
    CONTROL = "control", _("In the control group, which gets nothing")
    HOLDOUT = "holdout", _("In the holdout, which gets no campaigns")
    QUIET_HOURS = "quiet_hours", _("It would have expired before this person's quiet hours ended")
    LOCAL_TIME = "local_time", _("That time had passed where this person is")
    NO_ZONE = "no_zone", _("Nobody knows this person's time zone")
    CAPPED = "capped", _("This person had got enough messages by then")
    HAD_IT = "had_it", _("This person had got it in an earlier run")
    DEVICE_GONE = "device_gone", _("The device was removed or retired after the snapshot")
    EXPIRED = "expired", _("The campaign's deadline passed first")
    CRASHED_WORKERS = "crashed_workers", _("Workers crashed over this message")
    CANCELLED = "cancelled", _("The run was cancelled first")
    UNANSWERED = "unanswered", _("The request left, but no answer came")
    INTERRUPTED = "interrupted", _("A worker died while the request was on its way")
    CUT_SHORT = "cut_short", _("No answer came, and the run was cancelled before another try")
    LET_BE = "let_be", _("Unknown, and somebody chose to keep it as unknown")


# It is unknown whether the phone rang: a recipient is “unknown” only for one of these reasons.
NOBODY_KNOWS = (
    Reason.UNANSWERED,
    Reason.UNAVAILABLE,
    Reason.SERVER_ERROR,
    Reason.INTERRUPTED,
    Reason.CUT_SHORT,
    Reason.LET_BE,
)
# FCM was not asked: the person did not want it, there was nothing to send, or no time was left.
SKIPS = (
    Reason.UNSUBSCRIBED,
    Reason.SUPPRESSED,
    Reason.ONLINE,
    Reason.CONTROL,
    Reason.HOLDOUT,
    Reason.QUIET_HOURS,
    Reason.LOCAL_TIME,
    Reason.NO_ZONE,
    Reason.CAPPED,
    Reason.HAD_IT,
    Reason.MISSING_VALUE,
    Reason.TEMPLATE_ERROR,
    Reason.DEVICE_GONE,
    Reason.EXPIRED,
    Reason.CRASHED_WORKERS,
    Reason.CANCELLED,
)
# Recipients who still wait for their own time: nothing went wrong.
OWN_TIMES = (Reason.QUIET_HOURS, Reason.LOCAL_TIME)
# Nothing reaches this address any more: its device is retired.
DEAD = (Reason.UNREGISTERED, Reason.MALFORMED_ADDRESS)
# Refused for a temporary reason, and the phone surely did not ring: worth sending to again.
OF_THE_MOMENT = (Reason.UNKNOWN_ANSWER, Reason.UNREACHABLE, Reason.THROTTLED)


class Cause(TextChoices):
    """Why a run is paused."""

    BY_HAND = "by_hand", _("Paused on request.")
    LATE = "late", _("Its time passed while the system was down.")
    AWAY = "away", _("The system was away for long, or its database was restored.")
    BAD_CREDENTIALS = "bad_credentials", _("FCM refuses our key.")
    UNAUTHORISED = "unauthorised", _("FCM refuses our access.")
    WRONG_PROJECT = "wrong_project", _("FCM knows no such Firebase project.")
    OTHER_PROJECT = (
        "other_project",
        _("The devices belong to another Firebase project than our key."),
    )
    REFUSED_MESSAGE = "refused_message", _("FCM refuses this message, whoever it is for.")
    UNREADABLE_MESSAGE = "unreadable_message", _("FCM cannot read what we send.")
    UNKNOWN_ANSWER = "unknown_answer", _("FCM gives only unexpected answers.")
    DEAD_ADDRESSES = "dead_addresses", _("FCM calls unusually many addresses dead.")
    PLATFORM_KEY = "platform_key", _("Firebase lacks the key of a platform.")
    STORM = (
        "storm",
        _("Phones may be getting it twice: far more requests were sent than there are recipients."),
    )
    FIRST_PART = "first_part", _("What came of the first part is not good enough.")
    NO_WINNER = "no_winner", _("The first part has no winner.")
    QUARANTINED = "quarantined", _("Chunks crashed their workers 5 times.")
    BROKEN = "broken", _("It could not continue.")


def in_words(code: str) -> str:
    """The reason in words. During an upgrade, the next release may write codes that we do not
    know: then the code itself."""
    return str(Reason(code).label) if code in Reason.values else code


def cause_in_words(code: str) -> str:
    return str(Cause(code).label) if code in Cause.values else f"{code}."
