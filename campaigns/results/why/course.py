"""The history of one device's message: each thing that happened to it, in the order of time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from campaigns.engagement.receipt import Event, Receipt
from campaigns.results.reason_steps import STEPS, detail_in_words
from campaigns.results.why.rows import MAX_WINDOWS, Opened, Row
from campaigns.results.why.why import Why
from campaigns.runs.ledger import Answer, Delivery
from campaigns.runs.reasons import Reason, cause_in_words, in_words
from campaigns.runs.revisions.revision import FIRST
from campaigns.runs.run import Run
from campaigns.runs.variants import group
from campaigns.sending.breakers import NO_ACCESS


class Kind(StrEnum):
    CHOSEN = "chosen"
    WINDOW = "window"
    ANSWER = "answer"
    FINAL = "final"
    RECEIPT = "receipt"
    RETRY = "retry"


@dataclass(frozen=True)
class Step:
    """One thing that happened to a device's message, or will. `phone_at`: on the phone's clock."""

    at: datetime
    kind: Kind
    words: str
    more: str = ""
    code: str = ""  # of a status, for its dot
    phone_at: datetime | None = None


ORDER = list(Kind)


def _freeze_steps(row: Row, why: Why) -> list[Step]:
    at = why.run.started_at
    return [Step(at, Kind.CHOSEN, *_describe_choice(row, why))] if at else []


def course(row: Row, why: Why) -> list[Step]:
    """All steps in the order of time; those of the same moment in the order they are done."""
    steps = [
        *_freeze_steps(row, why),
        *(
            Step(window.opened_at, Kind.WINDOW, *_describe_window(window, why))
            for window in row.windows
        ),
        *(_answer_step(answer) for answer in row.answers),
        *_final_steps(row),
        *(_receipt_step(receipt) for receipt in row.receipts),
        *_retry_steps(row),
    ]
    return sorted(steps, key=lambda step: (step.at, ORDER.index(step.kind)))


def _describe_choice(row: Row, why: Why) -> tuple[str, str]:
    if why.run.kind == Run.Kind.MESSAGES:
        return _("The day's messages began."), ""
    text = _("The run began to be frozen; this device is in it.")
    return text, " ".join(filter(None, (_describe_group(row), _describe_best_hour(row, why.run))))


def _describe_group(row: Row) -> str:
    if row.variant is None:
        return ""
    text = _("By chance this person fell into: %(group)s.")
    return text % {"group": group.in_words(row.variant)}


def _describe_best_hour(row: Row, run: Run) -> str:
    if run.local_time is None or not run.local_time.best_hour:
        return ""
    if row.best:
        return row.best.words
    text = _("This person had no best hour, and goes by %(clock)s.")
    return text % {"clock": f"{run.local_time.wall:%H:%M}"}


def _describe_window(window: Opened, why: Why) -> tuple[str, str]:
    text = _("A request was about to leave.")
    if window.lost:
        text = _("A request was about to leave, and its worker died: it may have left.")
    if why.run.revision == FIRST:
        return text, ""
    return text, _("It says revision %(number)d of the text.") % {"number": window.revision}


def _answer_step(answer: Answer) -> Step:
    more = [
        _("It may have arrived.") if answer.may_have_arrived else _("It did not arrive."),
        detail_in_words(answer.reason, answer.detail),
    ]
    return Step(answer.at, Kind.ANSWER, answer_in_words(answer), " ".join(filter(None, more)))


def answer_in_words(answer: Answer) -> str:
    reason = reason_in_words(answer.reason)
    if not answer.http:
        return f"{reason}."
    name = f"{answer.http} {answer.code}".strip()
    return _("FCM answered %(answer)s: %(reason)s.") % {"answer": name, "reason": reason}


# The words of a reason for one try; its usual words are about the last try.
OF_ONE_TRY = {
    Reason.THROTTLED: gettext_lazy("Too many requests, says FCM"),
    Reason.DEVICE_THROTTLED: gettext_lazy("The device gets too many pushes, says FCM"),
    Reason.UNREACHABLE: gettext_lazy("FCM could not be reached"),
    Reason.UNAVAILABLE: gettext_lazy("FCM was out of service"),
    Reason.SERVER_ERROR: gettext_lazy("FCM failed while processing it"),
}


def reason_in_words(code: str) -> str:
    """The reason of one try, in words. Some codes mean a fault of ours, not of the recipient."""
    if code in OF_ONE_TRY:
        return str(OF_ONE_TRY[Reason(code)])
    if code in Reason.values:
        return in_words(code)
    return cause_in_words(NO_ACCESS[code]).rstrip(".") if code in NO_ACCESS else code


def _final_steps(row: Row) -> list[Step]:
    sent_row = row.sent
    if not sent_row.status or sent_row.at is None:
        return []
    text = _("FCM took it.")
    if sent_row.reason:
        text = f"{Delivery.Status(sent_row.status).label}: {in_words(sent_row.reason)}."
    return [
        Step(sent_row.at, Kind.FINAL, text, " ".join(_further_sentences(row)), code=sent_row.status)
    ]


def _further_sentences(row: Row) -> Iterator[str]:
    """Further sentences. FCM's detail is left out if a stored answer shows it already."""
    sent_row = row.sent
    detail = detail_in_words(sent_row.reason, sent_row.detail)
    if detail and not any(answer.detail == sent_row.detail for answer in row.answers):
        yield f"{detail.rstrip('.')}."
    if step := STEPS.get(sent_row.reason):
        yield str(step)
    if sent_row.resent:
        yield _("It was sent again, so the phone may have got two.")


def _receipt_step(receipt: Receipt) -> Step:
    event = str(Event(receipt.event).label)
    text = _("The phone told: %(event)s.") % {"event": event}
    return Step(receipt.at, Kind.RECEIPT, text, phone_at=receipt.phone_at)


def _retry_steps(row: Row) -> list[Step]:
    if row.retry is None or row.sent.status:
        return []
    if row.retry.reason == Reason.QUIET_HOURS:
        return [Step(row.retry.not_before, Kind.RETRY, _("Their quiet hours end."))]
    if row.retry.reason == Reason.LOCAL_TIME:
        return [Step(row.retry.not_before, Kind.RETRY, _("It is that time where they are."))]
    text = ngettext(
        "Another try is due, after %(tries)d so far.",
        "Another try is due, after %(tries)d so far.",
        row.retry.tries,
    )
    return [Step(row.retry.not_before, Kind.RETRY, text % {"tries": row.retry.tries})]


def is_cut(row: Row) -> bool:
    """Whether the message had more windows than are shown."""
    return len(row.windows) >= MAX_WINDOWS
