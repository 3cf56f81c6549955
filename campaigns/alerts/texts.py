"""The texts of an alert, in the reader's language: the same on the page, in Slack and by e-mail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from campaigns.alerts.events import alert_data
from campaigns.alerts.models import Alert, Kind
from campaigns.results.next_step import NEXT_STEP
from campaigns.runs.messages.outcome import GOES_ON_BY_ITSELF
from campaigns.webhooks.texts import why
from notifications.staff.actors import who
from notifications.values.moments import in_words, in_zone
from notifications.values.shares import share
from notifications.webhooks import event_types
from notifications.webhooks.composing import EventText

Data = dict[str, Any]


@dataclass(frozen=True)
class AlertText:
    """What is wrong, by how much, and what to do."""

    headline: str
    text: str
    next_step: str


def text_of(alert: Alert) -> AlertText:
    return text_of_data(alert_data(alert), alert.project.timezone)


def text_of_data(data: Data, zone: str = "UTC") -> AlertText:
    """During an upgrade, the next release may write kinds that this one does not know."""
    make = TEXTS.get(data["kind"])
    return make(data, data["numbers"], zone) if make else AlertText(str(data["kind"]), "", "")


def _paused(data: Data, numbers: Data, zone: str) -> AlertText:
    if not data["campaign"]:
        headline = _("No message to single people leaves")
        return AlertText(headline, why(numbers), str(GOES_ON_BY_ITSELF))
    headline = _("“%(name)s” is paused and needs you") % _name_values(data)
    return AlertText(headline, why(numbers), str(NEXT_STEP.get(numbers["cause"], "")))


def _stuck(data: Data, numbers: Data, zone: str) -> AlertText:
    since = _moment(numbers["since"], zone)
    return AlertText(
        _("“%(name)s” is stuck") % _name_values(data),
        _("It has work to do, but made no request since %(when)s.") % {"when": since},
        _("Is a worker of the queue “bulk” running? Operations shows all of them."),
    )


def _slow(data: Data, numbers: Data, zone: str) -> AlertText:
    waiting = ngettext(
        "%(count)s recipient waits.", "%(count)s recipients wait.", numbers["waiting"]
    ) % {"count": f"{numbers['waiting']:,}"}
    text = _(
        "%(rate)s a second were sent to in the last 10 minutes; it takes %(needed)s a second to "
        "reach them before %(deadline)s."
    ) % {
        "rate": f"{numbers['rate']:,}",
        "needed": f"{numbers['needed']:,}",
        "deadline": _moment(numbers["deadline"], zone),
    }
    return AlertText(
        _("“%(name)s” is too slow to finish in time") % _name_values(data),
        f"{waiting} {text}",
        _("The run's page says what limits its rate. Whoever is not reached by then gets nothing."),
    )


def _rejected(data: Data, numbers: Data, zone: str) -> AlertText:
    text = _("%(rejected)s of %(judged)s (%(percent)s %%); usually it is %(usual)s %%.")
    return AlertText(
        _("“%(name)s” has unusually many rejected") % _name_values(data),
        text
        % {
            "rejected": f"{numbers['rejected']:,}",
            "judged": f"{numbers['judged']:,}",
            "percent": numbers["percent"],
            "usual": numbers["usual_percent"],
        },
        _("The run's page says why, by reason."),
    )


def _dead(data: Data, numbers: Data, zone: str) -> AlertText:
    text = _("%(count)s addresses were found dead today; on a usual day it is %(usual)s.")
    return AlertText(
        _("More dead addresses than usual"),
        text % {"count": f"{numbers['count']:,}", "usual": f"{numbers['usual']:,}"},
        _("Did an import bring an old list, or did the app move to another Firebase project?"),
    )


def _quota(data: Data, numbers: Data, zone: str) -> AlertText:
    text = _("%(used)s of %(quota)s requests were made in a minute: %(share)s %%.")
    used, quota = numbers["used"], numbers["quota"]
    shares = {"used": f"{used:,}", "quota": f"{quota:,}", "share": share(used, quota)}
    return AlertText(
        _("FCM's quota is nearly used up"),
        text % shares,
        _(
            "What is above it is refused and tried again later. Slow a run down, or ask Google for "
            "more."
        ),
    )


def _unopened(data: Data, numbers: Data, zone: str) -> AlertText:
    text = _("FCM accepted %(accepted)s; %(able)s devices would tell that they opened it.")
    return AlertText(
        _("Nobody has opened “%(name)s”") % _name_values(data),
        text % {"accepted": f"{numbers['accepted']:,}", "able": f"{numbers['able']:,}"},
        _("Send it to a phone of your own: does it arrive, and does a tap open the app?"),
    )


TEXTS: dict[str, Callable[[Data, Data, str], AlertText]] = {
    Kind.PAUSED: _paused,
    Kind.STUCK: _stuck,
    Kind.SLOW: _slow,
    Kind.REJECTED: _rejected,
    Kind.DEAD_ADDRESSES: _dead,
    Kind.QUOTA: _quota,
    Kind.UNOPENED: _unopened,
}


def _name_values(data: Data) -> dict[str, str]:
    return {"name": data["campaign"]["name"] if data["campaign"] else ""}


def _moment(text: str, zone: str) -> str:
    return in_zone(datetime.fromisoformat(text), zone)


# --- In Slack and by e-mail -----------------------------------------------------------------------


def raised(data: Data) -> EventText:
    alert = text_of_data(data)
    headline = _("Still: %(what)s") if data["reminder"] else "%(what)s"
    text = "\n".join(part for part in (alert.text, alert.next_step) if part)
    reminders = _(
        "You get a reminder each hour until somebody acknowledges the alert on that page."
    )
    return _compose(data, headline % {"what": alert.headline}, f"{text}\n{reminders}")


def text_of_ended_alert(data: Data) -> EventText:
    lasted = datetime.fromisoformat(data["ended_at"]) - datetime.fromisoformat(data["raised_at"])
    text = _("It stood for %(time)s.") % {"time": in_words(lasted)}
    facts = [(_("Seen by"), who(by))] if (by := data["acknowledged_by"]) else []
    return _compose(data, _("Over: %(what)s") % {"what": text_of_data(data).headline}, text, facts)


def _compose(
    data: Data, headline: str, text: str, facts: list[tuple[str, str]] | None = None
) -> EventText:
    label = _("Open the run") if data["campaign"] else _("Open the alerts")
    return EventText(headline, text, facts or [], data["url"] or "", label)


WORDS: dict[str, Callable[[Data], EventText]] = {
    event_types.EventType.ALERT_RAISED: raised,
    event_types.EventType.ALERT_ENDED: text_of_ended_alert,
}
