"""Reasons: the closed list of why a recipient was not accepted, or a run waits for a person.

A code in the rows, plain words and a next step on the pages.
"""

from __future__ import annotations

from django.db.models import TextChoices


class Reason(TextChoices):
    """Why this recipient was rejected, skipped or is unknown."""

    UNREGISTERED = "unregistered", "App uninstalled or address expired (device retired)"
    MALFORMED_ADDRESS = "malformed_address", "Not a valid FCM address (device retired)"
    OTHER_PROJECT = "other_project", "Address belongs to another Firebase project"
    REFUSED_MESSAGE = "refused_message", "FCM refused the message itself"
    INVALID_MESSAGE = "invalid_message", "This person's message breaks one of FCM's rules"
    UNREADABLE_MESSAGE = "unreadable_message", "FCM could not read our request"
    PLATFORM_KEY = "platform_key", "Firebase lacks a valid APNs or web push key"
    THROTTLED = "throttled", "Still throttled by FCM after the last try"
    DEVICE_THROTTLED = "device_throttled", "The device still gets too many pushes, says FCM"
    UNAVAILABLE = "unavailable", "FCM still unavailable after the last try"
    SERVER_ERROR = "server_error", "FCM still failing after the last try"
    UNREACHABLE = "unreachable", "FCM could not be reached, after the last try"
    UNKNOWN_ANSWER = "unknown_answer", "FCM gave an answer we do not know"
    MISSING_VALUE = "missing_value", "A value the text needs is missing for this person"
    TEMPLATE_ERROR = "template_error", "The text could not be rendered for this person"
    TOO_LONG = "too_long", "The rendered message is over FCM's 4,096 bytes"
    DEVICE_GONE = "device_gone", "The device was removed or retired after the snapshot"
    EXPIRED = "expired", "The campaign's deadline passed first"
    CANCELLED = "cancelled", "The run was cancelled first"
    UNANSWERED = "unanswered", "The request left, but no answer came"
    INTERRUPTED = "interrupted", "A worker died while the request was on its way"


class Cause(TextChoices):
    """Why a run is paused."""

    BY_HAND = "by_hand", "Paused by a person."
    LATE = "late", "Its time passed while the system was down. Resume to send now, or cancel."
    BAD_CREDENTIALS = "bad_credentials", "FCM refuses our key. Set a working one, then resume."
    UNAUTHORISED = "unauthorised", "FCM refuses our access. Check the key's role, then resume."
    WRONG_PROJECT = (
        "wrong_project",
        "FCM knows no such Firebase project. Correct its ID, then resume.",
    )
    OTHER_PROJECT = "other_project", "The devices belong to another Firebase project than our key."
    REFUSED_MESSAGE = "refused_message", "FCM refuses this message, whoever it is for."
    UNREADABLE_MESSAGE = "unreadable_message", "FCM cannot read what we send."
    DEAD_ADDRESSES = "dead_addresses", "Unusually many addresses are called dead; none was retired."
    PLATFORM_KEY = (
        "platform_key",
        "Firebase lacks the key of a platform. Set it there, then resume.",
    )
    QUARANTINED = "quarantined", "Chunks crashed their workers 5 times. Look at them, then resume."
    BROKEN = "broken", "It could not go on. Show the detail to an engineer, then resume or cancel."
