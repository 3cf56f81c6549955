"""Next steps for a recipient that was not accepted: what to do, and the detail in words.

The reason itself says what happened.
"""

from __future__ import annotations

import re

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from campaigns.runs.reasons import Reason, in_words

STEPS: dict[str, str | Promise] = {
    Reason.UNREGISTERED: _("Nothing: the address comes back by itself when the app is opened "
    "again."),
    Reason.MALFORMED_ADDRESS: _("Check how your app reports its address."),
    Reason.OTHER_PROJECT: _("Compare the app's Firebase project with the one set here."),
    Reason.REFUSED_MESSAGE: _("Correct the template, then send a duplicate to those who were "
    "refused."),
    Reason.INVALID_MESSAGE: _("Open one of them, and see which value breaks the message."),
    Reason.UNREADABLE_MESSAGE: _("Show this to an engineer: the request itself is wrong."),
    Reason.PLATFORM_KEY: _("Upload the APNs key or web push certificate in the Firebase console."),
    Reason.THROTTLED: _("Send slower, or ask Google for a larger quota; then send to them again."),
    Reason.DEVICE_THROTTLED: _("Push these people less often for a while."),
    Reason.UNAVAILABLE: _("It is unknown whether the message arrived. Sending again may show "
    "it twice."),
    Reason.SERVER_ERROR: _("It is unknown whether the message arrived. Sending again may show "
    "it twice."),
    Reason.UNREACHABLE: _("Check the workers' internet connection, then send to them again."),
    Reason.UNKNOWN_ANSWER: _("Show the detail to an engineer, then send to them again."),
    Reason.MISSING_VALUE: _("Give the variable a fallback in the template, such as "
    "“default: 'friend'”."),
    Reason.TEMPLATE_ERROR: _("Open one of them: the detail names the place in the text."),
    Reason.TOO_LONG: _("Shorten the text, or the value that makes it long."),
    Reason.UNSUBSCRIBED: _("Nothing: they declined. Their page shows when, and what."),
    Reason.SUPPRESSED: _("Nothing: people on the suppression list are never sent to."),
    Reason.CONTROL: _("Nothing: compare what they do with what the others do, below."),
    Reason.HOLDOUT: _(
        "Nothing: they get no campaign, so that one sees what all campaigns bring about."
    ),
    Reason.QUIET_HOURS: _("Set a longer time (“Expires after”), or an earlier start."),
    Reason.LOCAL_TIME: _("Launch it earlier, or choose “the next day” where the time has passed."),
    Reason.NO_ZONE: _("Let your app send the time zone, or choose one for those without."),
    Reason.CAPPED: _("Nothing: caps spared them. Send less often, or raise them."),
    Reason.HAD_IT: _("Nothing: the campaign goes only to those who have not had it."),
    Reason.ONLINE: _("Nothing: it was there on their screen, and the phone was to stay quiet."),
    Reason.DEVICE_GONE: _("Nothing: the device was removed between the launch and its turn."),
    Reason.EXPIRED: _("Set a longer time (“Expires after”), or a higher rate."),
    Reason.CRASHED_WORKERS: _("Show the message to an engineer: the workers' log says what broke."),
    Reason.CANCELLED: _("Nothing: it was your decision."),
    Reason.UNANSWERED: _("It is unknown whether the message arrived. Sending again may show it "
    "twice."),
    Reason.INTERRUPTED: _("It is unknown whether the message arrived: a worker died. Check "
    "the workers' log if there are many."),
    Reason.CUT_SHORT: _("Nothing: it was cancelled, and nobody is sent to again."),
    Reason.LET_BE: _("Nothing: somebody chose to keep them as unknown."),
}  # fmt: skip


# Workers write details in English; a page shows them in the user's language.
MISSING = re.compile(r"['“]?(?P<name>.+?)['”]? is (?:undefined|missing)")
KEPT = re.compile(r"kept for run (?P<run>\d+)")
AT_LAST = re.compile(r"(?:last answer|at last): (?P<reason>[a-z_]+)")
ERROR_OF_LIQUID = re.compile(r"[A-Za-z]+(?:Error|Exception): (?P<said>[^\n]*)", re.DOTALL)


def detail_in_words(reason: str, detail: str) -> str:
    """A delivery's detail in words. FCM's own words and unknown forms are shown unchanged."""
    if reason == Reason.MISSING_VALUE and (parts := MISSING.fullmatch(detail)):
        return gettext("No value for %(name)s") % {"name": parts["name"]}
    if reason == Reason.CAPPED and (parts := KEPT.fullmatch(detail)):
        return gettext("Kept for run %(number)s") % {"number": parts["run"]}
    if parts := AT_LAST.fullmatch(detail):
        return gettext("The last answer: %(reason)s") % {"reason": in_words(parts["reason"])}
    if reason == Reason.TEMPLATE_ERROR:
        bare = ERROR_OF_LIQUID.match(detail)
        return gettext(bare["said"] if bare else detail) if detail else ""
    field, colon, text = detail.partition(": ")
    return f"{field}: {gettext(text)}" if colon and text else detail
