"""The first sentence of the answer why a person got a message, or not, for page and API."""

from __future__ import annotations

from collections.abc import Callable

from django.utils.translation import gettext as _

from campaigns.audiences.why import Node
from campaigns.results.why.course import reason_in_words
from campaigns.results.why.why import Cause, Ending, Why
from campaigns.runs.ledger import Delivery
from campaigns.runs.messages.message import Message
from campaigns.runs.reasons import Reason, in_words
from campaigns.runs.run import Run

LONGEST_SEEN = 100


def sentence(why: Why) -> str:
    """“Ann was sent to on 21 Nov 2026, 10:02:03 Asia/Seoul, and FCM took it.”"""
    return _BEGINNINGS[why.ending](why)


def _describe_accepted(why: Why) -> str:
    text = _("%(person)s was sent to on %(at)s, and FCM took it.")
    return text % {"person": why.contact, "at": _first_time(why, Delivery.Status.ACCEPTED)}


def _describe_partly(why: Why) -> str:
    accepted = sum(row.sent.status == Delivery.Status.ACCEPTED for row in why.rows)
    text = _("%(person)s was sent to on %(at)s: FCM took it for %(taken)d of %(all)d devices.")
    at, devices = _first_time(why, Delivery.Status.ACCEPTED), len(why.rows)
    return text % {"person": why.contact, "at": at, "taken": accepted, "all": devices}


def _describe_rejected(why: Why) -> str:
    text = _("%(person)s was to be sent to, and FCM did not take it: %(reason)s.")
    return text % {"person": why.contact, "reason": _first_reason(why, Delivery.Status.REJECTED)}


def _describe_skipped(why: Why) -> str:
    text = _("%(person)s was in the snapshot, and nothing was sent: %(reason)s.")
    return text % {"person": why.contact, "reason": _first_reason(why, Delivery.Status.SKIPPED)}


def _describe_unknown(why: Why) -> str:
    text = _("Nobody knows whether %(person)s got it: %(reason)s.")
    return text % {"person": why.contact, "reason": _first_reason(why, Delivery.Status.UNKNOWN)}


def _describe_waiting(why: Why) -> str:
    retries = [row.retry for row in why.rows if row.retry and not row.sent.status]
    if why.follows:
        text = _("%(person)s is in the snapshot, and waits for what comes of the first part.")
        return text % {"person": why.contact}
    if not retries:
        return _("%(person)s is in the snapshot, and waits for their turn.") % {
            "person": why.contact
        }
    retry = min(retries, key=lambda candidate: candidate.not_before)
    if retry.reason == Reason.QUIET_HOURS:
        text = _("%(person)s waits until their quiet hours end. It is due on %(at)s.")
        return text % {"person": why.contact, "at": why.when(retry.not_before)}
    if retry.reason == Reason.LOCAL_TIME:
        text = _("%(person)s waits until it is that time where they are: %(at)s.")
        return text % {"person": why.contact, "at": why.when(retry.not_before)}
    text = _("%(person)s waits for another try: %(reason)s. It is due on %(at)s.")
    at = why.when(retry.not_before)
    return text % {"person": why.contact, "reason": reason_in_words(retry.reason), "at": at}


def _describe_not_in(why: Why) -> str:
    if why.run.kind == Run.Kind.MESSAGES:
        text = _("%(person)s was not sent any message in this run, which is one day's messages.")
        return text % {"person": why.contact}
    out = _("%(person)s was not in the snapshot.") % {"person": why.contact}
    return f"{out} {_describe_cause(why)}"


def _describe_no_device(why: Why) -> str:
    text = _("There was a message to %(person)s, and no device of theirs that could receive it.")
    return text % {"person": why.contact}


def _describe_not_sent(why: Why) -> str:
    newest = why.messages[0]
    if newest.state == Message.State.CANCELLED:
        text = _("The message to %(person)s was cancelled before it left.")
        return text % {"person": why.contact}
    text = _("The message to %(person)s has not left yet. It is due on %(at)s.")
    return text % {"person": why.contact, "at": why.when(newest.at)}


def _describe_not_yet(why: Why) -> str:
    if why.run.planned is not None:
        text = _("The audience is still being frozen: %(person)s is not among those chosen so far.")
        return text % {"person": why.contact}
    text = _("Nobody has been chosen for this run yet. It is due on %(at)s.")
    return text % {"at": why.when(why.run.scheduled_at)}


def _describe_nobody(why: Why) -> str:
    return _("The run was cancelled before anybody was chosen.")


def _describe_forgotten(why: Why) -> str:
    text = _(
        "Nobody can tell any more whether %(person)s was in it: its recipients were removed on "
        "%(at)s."
    )
    return text % {"person": why.contact, "at": why.when(why.run.forgotten_at)}


_BEGINNINGS: dict[Ending, Callable[[Why], str]] = {
    Ending.ACCEPTED: _describe_accepted,
    Ending.PARTLY: _describe_partly,
    Ending.REJECTED: _describe_rejected,
    Ending.SKIPPED: _describe_skipped,
    Ending.UNKNOWN: _describe_unknown,
    Ending.WAITING: _describe_waiting,
    Ending.NOT_IN: _describe_not_in,
    Ending.NO_DEVICE: _describe_no_device,
    Ending.NOT_SENT: _describe_not_sent,
    Ending.NOT_YET: _describe_not_yet,
    Ending.NOBODY: _describe_nobody,
    Ending.FORGOTTEN: _describe_forgotten,
}


def _first_time(why: Why, status: str) -> str:
    times = [row.sent.at for row in why.rows if row.sent.status == status and row.sent.at]
    return why.when(min(times))


def _first_reason(why: Why, status: str) -> str:
    return next(in_words(row.sent.reason) for row in why.rows if row.sent.status == status)


# --- What kept the person out ---------------------------------------------------------------------


def _describe_cause(why: Why) -> str:
    frozen = why.when(why.frozen_at)
    match why.cause:
        case Cause.PERSON_LATER:
            text = _("They were registered on %(at)s; it had been frozen on %(frozen)s.")
            return text % {"at": why.when(why.contact.created_at), "frozen": frozen}
        case Cause.NO_DEVICE:
            return _("They have no device; whether they had one then is not known.")
        case Cause.RETIRED:
            return _("All their devices had been retired before.")
        case Cause.UNSEEN:
            text = _("None of their devices had been seen since %(at)s, as the project asks.")
            return text % {"at": why.when(why.run.seen_since)}
        case Cause.HAD_IT:
            text = _("They had got it in run %(number)d, and it goes to nobody twice.")
            return text % {"number": why.brought_before.pk if why.brought_before else 0}
        case Cause.RULES:
            return _("Now they would not be: %(rules)s.") % {"rules": _failing_rules(why)}
        case Cause.DEVICE_LATER:
            text = _("Their devices were registered, or registered again, after it was frozen on "
            "%(frozen)s.")  # fmt: skip
            return text % {"frozen": frozen}
        case Cause.RULES_UNASKED:
            return why.now.problem
        case _:
            return _describe_now(why)


def _describe_now(why: Why) -> str:
    if why.now.ruled and why.now.ruled.selected:
        return _("Now they would be: something must have changed since.")
    return _("The rules hold of them now, and no device of theirs would be chosen.")


def _failing_rules(why: Why) -> str:
    """The rules that fail, e.g. “city is not Seoul (it is Busan)”."""
    because = why.now.ruled.because if why.now.ruled else []
    return "; ".join(_describe_rule(node) for node in because)


def _describe_rule(node: Node) -> str:
    if value := node.history or node.value:
        text = _("%(rule)s (it is %(seen)s)")
        return text % {"rule": node.otherwise, "seen": value[:LONGEST_SEEN]}
    unknown = _("%(rule)s (not known)") % {"rule": node.otherwise}
    return unknown if node.value == "" else node.otherwise
