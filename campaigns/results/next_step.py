"""Next steps for a paused run: what a user can do, by the cause of the pause.

Its page and the API show them. The cause itself says what happened.
"""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from campaigns.runs.reasons import Cause

NEXT_STEP: dict[str, str | Promise] = {
    Cause.BY_HAND: _("Resume when you are ready, or cancel: the people left then get nothing."),
    Cause.LATE: _("Resume to send it now, late as it is. Cancel if it makes no sense any more."),
    Cause.AWAY: _(
        "If the database was restored, people called waiting may have got it already: compare "
        "with what FCM reports, and cancel. If the system was only off, resume."
    ),
    Cause.BAD_CREDENTIALS: _("Open the project, set a working service account, then resume."),
    Cause.UNAUTHORISED: _(
        "Give the service account the role “Firebase Cloud Messaging API Admin” in "
        "the Google Cloud console, then resume."
    ),
    Cause.WRONG_PROJECT: _(
        "Compare the Firebase project ID of the project with the Firebase "
        "console, correct it, then resume."
    ),
    Cause.OTHER_PROJECT: _(
        "Set the service account of the Firebase project that the app was built with, then "
        "resume: the people refused are sent to again. No device was retired."
    ),
    Cause.REFUSED_MESSAGE: _(
        "Correct the template, and launch a duplicate of the campaign; cancel "
        "this run. A run keeps the text it was launched with."
    ),
    Cause.UNREADABLE_MESSAGE: _(
        "Show this to an engineer: the request itself is wrong. Nobody was "
        "refused for good; resume once it is fixed, or cancel."
    ),
    Cause.UNKNOWN_ANSWER: _(
        "A proxy or a firewall may answer in FCM's place: show the detail to an engineer. Nobody "
        "was refused for good; resume once it is fixed."
    ),
    Cause.DEAD_ADDRESSES: _(
        "The cause may be our payload, the Firebase project, or a very old list. Resume if "
        "the list is old: dead devices are then retired."
    ),
    Cause.PLATFORM_KEY: _(
        "Upload the APNs key (iOS) or the web push certificate in the Firebase "
        "console, under Cloud Messaging, then resume: those who wait are sent to."
    ),
    Cause.STORM: _(
        "Check the workers' connection to FCM: answers get lost, so people are sent to "
        "again. Resume once it is fixed, or cancel: then nobody is sent to again."
    ),
    Cause.FIRST_PART: _(
        "Look who was rejected, and why. Resume to send to the rest all the same, or cancel: the "
        "rest then gets nothing."
    ),
    Cause.NO_WINNER: _(
        "Compare the variants, then choose “Go on now” and the one to send. Resume sends the best "
        "so far. Cancel, and the rest gets nothing."
    ),
    Cause.QUARANTINED: _(
        "Check the workers' log for these chunks. Resuming gives them five more tries; "
        "cancelling closes them."
    ),
    Cause.BROKEN: _("Show this to an engineer. Resume once it is fixed, or cancel."),
}
TAKE_BACK = _("Devices this run has already retired can be taken back.")
