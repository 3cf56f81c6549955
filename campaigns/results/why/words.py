"""The person's current state in words, and what cannot be known any more."""

from __future__ import annotations

from django.utils.translation import gettext as _

from campaigns.results.why.current_state import Fate, Seen
from campaigns.results.why.why import Ending, Why
from campaigns.runs.ledger import MAX_ANSWERS
from campaigns.runs.run import Run
from notifications.people.consent import eligibility


def consent_in_words(why: Why) -> str:
    """The consent in words, with when it last changed: before the freeze, or after it."""
    consent = why.now.consent
    text = {
        eligibility.SUPPRESSED: _("On the suppression list: nothing is sent to them."),
        eligibility.UNSUBSCRIBED: _("They do not want such messages."),
    }.get(consent.reason, _("They may be sent such a message."))
    if consent.changed_at is None:
        return text
    since = why.frozen_at is not None and consent.changed_at > why.frozen_at
    when = _("Since %(at)s, after the freeze.") if since else _("Since %(at)s, before the freeze.")
    return f"{text} {when % {'at': why.when(consent.changed_at)}}"


def device_in_words(seen: Seen, why: Why) -> str:
    """What kept a device out then, for certain or perhaps, and whether it receives now."""
    device, run = seen.device, why.run
    if device.retired_at:
        at = {"at": why.when(device.retired_at)}
        if seen.fate == Fate.RETIRED:
            return _("retired on %(at)s, before the freeze") % at
        return _("retired on %(at)s, after the freeze") % at
    if seen.fate == Fate.UNSEEN:
        text = _("last seen %(at)s: left out, as not seen since %(since)s")
        return text % {"at": why.when(device.last_seen_at), "since": why.when(run.seen_since)}
    if seen.fate == Fate.LATER:
        text = _("registered, or registered again, on %(at)s, after the freeze")
        return text % {"at": why.when(device.registered_at)}
    return _("registered on %(at)s, last seen %(seen)s") % {
        "at": why.when(device.registered_at),
        "seen": why.when(device.last_seen_at),
    }


def not_known(why: Why) -> list[str]:
    """What cannot be known any more, to be shown beside what is known."""
    return [gap for gap in _list_gaps(why) if gap]


def _list_gaps(why: Why) -> list[str]:
    frozen, theirs = why.when(why.frozen_at), why.run.kind == Run.Kind.CAMPAIGN
    return [
        _("Who was in it, and what FCM and the phones said.") if why.run.forgotten_at else "",
        _("What was known of this person then: it was written again on %(at)s, after the freeze.")
        % {"at": why.when(why.contact.updated_at)}
        if theirs and why.changed_since
        else "",
        _("How the lists, events and runs that the rules ask for stood on %(at)s.") % {"at": frozen}
        if theirs and why.ending == Ending.NOT_IN
        else "",
        _("Whether they had other devices then that were removed since.")
        if theirs and why.ending == Ending.NOT_IN
        else "",
        _("What FCM said after the first %(most)d answers to one device.") % {"most": MAX_ANSWERS}
        if any(len(row.answers) >= MAX_ANSWERS for row in why.rows)
        else "",
    ]
