"""What a person can do about a recipient that was not accepted; the reason says what happened."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from campaigns.runs.reasons import Reason

STEPS: dict[str, str | Promise] = {
    Reason.UNREGISTERED: _("Nothing: the address comes back by itself when the app is opened "
    "again."),
    Reason.MALFORMED_ADDRESS: _("Look at how your app reports its address."),
    Reason.OTHER_PROJECT: _("Compare the app's Firebase project with the one set here."),
    Reason.REFUSED_MESSAGE: _("Correct the template, then send a duplicate to those who were "
    "refused."),
    Reason.INVALID_MESSAGE: _("Open one of them, and see which value breaks the message."),
    Reason.UNREADABLE_MESSAGE: _("Show this to an engineer: the request itself is wrong."),
    Reason.PLATFORM_KEY: _("Upload the APNs key or web push certificate in the Firebase console."),
    Reason.THROTTLED: _("Send slower, or ask Google for a larger quota; then send to them again."),
    Reason.DEVICE_THROTTLED: _("Push these people less often for a while."),
    Reason.UNAVAILABLE: _("Nobody knows whether the phone rang. Sending again may ring it twice."),
    Reason.SERVER_ERROR: _("Nobody knows whether the phone rang. Sending again may ring it twice."),
    Reason.UNREACHABLE: _("Check the workers' way to the internet, then send to them again."),
    Reason.UNKNOWN_ANSWER: _("Show the detail to an engineer, then send to them again."),
    Reason.MISSING_VALUE: _("Give the variable a fallback in the template, such as "
    "“default: 'friend'”."),
    Reason.TEMPLATE_ERROR: _("Open one of them: the detail names the place in the text."),
    Reason.TOO_LONG: _("Shorten the text, or the value that makes it long."),
    Reason.DEVICE_GONE: _("Nothing: the device went away between the launch and its turn."),
    Reason.EXPIRED: _("Allow more time (“worth showing for”), or a higher rate."),
    Reason.CANCELLED: _("Nothing: it was your decision."),
    Reason.UNANSWERED: _("Nobody knows whether the phone rang. Sending again may ring it twice."),
    Reason.INTERRUPTED: _("Nobody knows whether the phone rang: a worker died. Look at the "
    "workers' log if there are many."),
    Reason.CUT_SHORT: _("Nothing: it was cancelled, and nobody is sent to again."),
    Reason.LET_BE: _("Nothing: it was decided."),
}  # fmt: skip
