"""Policy: a campaign's settings, each declared once; its audience and texts are not part of it.

A new setting is one line here, its column on Campaign (and on Run, if a launch freezes it), and
the code that obeys it. Everything else reads this list: the freeze and the next run of a series,
the form and its steps, the API, the comparison of a launch with a colleague's edit, and the names
on pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from campaigns.runs.local_time import NEXT_DAY, date_and_time
from notifications.values import moments


class Held(Enum):
    """Until when a setting can be changed on the campaign, by people who may edit campaigns."""

    TIMES = auto()  # it says when runs start: not while a series goes on
    FROZEN = auto()  # always, but no run notices: a launch freezes its value
    LIVE = auto()  # the same, and people who steer a run may change the run's value, too


@dataclass(frozen=True)
class Setting:
    """One field of a campaign, and of its runs if a launch freezes it."""

    field: str
    held: Held
    words: Any  # its name, on pages and in the audit trail
    hint: Any = ""
    step: str = "when"  # the step of the campaign's form that asks for it
    shown_if: str = ""  # the class in campaign.css that decides when it is shown
    of: str = ""  # it has no effect while this other field is empty
    rare: bool = False  # under “More”
    guarded: bool = True  # if it changed since the page was read: review before saving or launching
    percent: bool = False


SETTINGS = (
    Setting("category", Held.FROZEN, _("Category"), _(
        "People who declined this category are skipped; people on the suppression list "
        "always are."
    ), step="who"),
    Setting("inbox", Held.FROZEN, _("Also into the inbox"), _(
        "People find it in your app's inbox as well, whether or not a phone was reached. "
        "Suppressed people do not get it."
    ), step="what"),
    Setting("control_percent", Held.FROZEN, _("Control group, percent"), _(
        "So many of the people, chosen by chance, get nothing: the result then says what the text "
        "brought about, and what would have come without it. 0: none."
    ), step="what"),
    Setting("past_holdout", Held.FROZEN, _("Also to the holdout"), _(
        "The project may hold some people out of all campaigns, to see what they bring about. "
        "Transactional and critical categories reach them in any case."
    ), step="who"),
    Setting("past_caps", Held.FROZEN, _("Also to people who have had enough"), _(
        "The project's caps, and the category's, skip nobody of it; it counts as any other."
    ), step="who"),
    Setting("once_each", Held.FROZEN, _("Only those who have not had it"), _(
        "Whoever got this campaign in an earlier run, or may have got it, is left out."
    ), step="who"),
    Setting("schedule_kind", Held.TIMES, _("When")),
    Setting("repeat", Held.TIMES, _("How often"), _(
        "At the same local time, summer and winter. While one run is still going, the next one is "
        "left out, but not while it goes around the earth by each reader's clock. The 31st means "
        "the last day of a shorter month."
    ), shown_if="c-if-repeating"),
    Setting("cron", Held.TIMES, _("Cron expression"), _(
        "Minute, hour, day of the month, month, day of the week, by the time zone below. “0 9 * * "
        "mon” is Mondays at nine; “0 10-18/4 1 * *” at 10, 14 and 18 on the first of each month."
    ), shown_if="c-if-cron"),
    Setting("every", Held.TIMES, _("Every … days, weeks or months"), _(
        "2: every other one, counted from the first time."
    ), shown_if="c-if-rhythm"),
    Setting("on_days", Held.TIMES, _("On which days"), shown_if="c-if-days"),
    Setting("weekdays", Held.TIMES, _("On these days of the week"), _(
        "Tick none for the day of the first time. Weeks begin on Monday."
    ), shown_if="c-if-weekly"),
    Setting("days_off", Held.TIMES, _("Not on these days"), _(
        "Holidays, for example: a date a line, such as 2026-12-25, and behind it, if you like, its "
        "name. What falls on one of them is left out."
    ), shown_if="c-if-repeating"),
    Setting("at", Held.TIMES, pgettext_lazy("field", "at"), _(
        "Local time in the time zone below. If it repeats: the first time; by a cron expression, "
        "nothing is sent before it."
    ), shown_if="c-if-timed"),
    Setting("until", Held.TIMES, _("Ends"), _(
        "Nothing is sent after this time; by each reader's clock, nothing for a later one. Empty: "
        "until somebody stops it."
    ), shown_if="c-if-repeating"),
    Setting("timezone", Held.TIMES, pgettext_lazy("field", "time zone"), _(
        "Type a city: “Seoul” finds Asia/Seoul."
    ), shown_if="c-if-timed"),
    Setting("local_time", Held.TIMES, _("By each reader's clock"), _(
        "Everybody gets it when it is that time where they are: it goes around the earth in up to "
        "26 hours, and expires for each of them so long after their own time."
    ), shown_if="c-if-timed"),
    Setting("best_hour", Held.TIMES, _("At each person's best hour"), _(
        "On that day, in the hour in which they opened most messages in the last 90 days. Whoever "
        "opened too few, or at any hour, gets it at the time above."
    ), shown_if="c-if-local", of="local_time"),
    Setting("passed", Held.TIMES, _("Where that time has passed"), _(
        "By the clocks of some readers it may be later already when you launch it, by more than "
        "“If it starts late” allows."
    ), shown_if="c-if-passed", of="local_time"),
    Setting("zoneless", Held.TIMES, _("People without a time zone"), _(
        "The app has not told where they are."
    ), shown_if="c-if-local", of="local_time"),
    Setting("max_lateness_seconds", Held.FROZEN, _("If it starts late"), _(
        "If sending could not start within this time (the system was down), the run waits for a "
        "person instead of going out late. By each reader's clock: who would get it later than "
        "this, because somebody paused the run, is skipped."
    ), shown_if="c-if-timed", rare=True),
    Setting("precedence", Held.FROZEN, _("Precedence"), _(
        "Where caps leave a person one place: a planned campaign of higher precedence gets it, and "
        "a lower one skips them."
    ), rare=True),
    Setting("rate_per_second", Held.LIVE, _("At most, per second"), _(
        "Protects your own servers from everyone opening the app at once. Empty: as fast "
        "as the project's FCM quota allows."
    )),
    Setting("spread_seconds", Held.LIVE, _("Spread over"), _(
        "So long it takes to send to all of them, at an even rate reckoned from how many they are: "
        "“10 min”. Where “At most” is slower, that holds. Empty: as fast as it may."
    )),
    Setting("opens_per_second", Held.LIVE, _("Opens a second, at most"), _(
        "So slowly that no more of them a second are expected to open it, by how many opened the "
        "project's last runs. Where “At most” or “Spread over” is slower, that holds. Empty: not "
        "limited by it."
    )),
    Setting("ttl_seconds", Held.FROZEN, _("Expires after"), _(
        "Counted from the start. A phone that comes online later shows nothing, and people "
        "not sent to by then are skipped."
    )),
    Setting("first_percent", Held.FROZEN, _("First part, in percent"), _(
        "So many go first, drawn by chance; the rest waits for what comes of them. If that is not "
        "good enough, the run pauses and asks you. Empty: all go at once."
    ), percent=True),
    Setting("first_least", Held.FROZEN, _("First part, at least"), _(
        "So many devices, however small the share. An audience that is not larger goes at once."
    ), shown_if="c-if-first", of="first_percent"),
    Setting("first_wait_seconds", Held.FROZEN, _("Then wait"), _(
        "From the last answer to the first part until it is judged; at most half of “Expires "
        "after”, which counts from the start for the rest, too."
    ), shown_if="c-if-first", of="first_percent"),
    Setting("first_most_rejected", Held.FROZEN, _("Rejected at most, in percent"), _(
        "Of those sent to, without the dead addresses. If FCM rejects more, the run asks you."
    ), shown_if="c-if-first", of="first_percent", percent=True),
    Setting("first_most_dead", Held.FROZEN, _("Dead addresses at most, in percent"), _(
        "Of those sent to. If more are dead, the run asks you."
    ), shown_if="c-if-first", of="first_percent", percent=True),
    Setting("first_least_received", Held.FROZEN, _("Received at least, in percent"), _(
        "Of the devices whose app reports it; if fewer than 20 do, this is not judged. 0: never."
    ), shown_if="c-if-first", of="first_percent", percent=True),
    Setting("winner_by", Held.FROZEN, _("The rest gets"), _(
        "With variants, the first part tests them. After the wait, the rest gets the winner, if "
        "the difference is significant."
    ), shown_if="c-if-first", of="first_percent"),
    Setting("no_winner", Held.FROZEN, _("If there is no clear winner"), _(
        "Small differences need many people. The review says how many."
    ), shown_if="c-if-first", of="first_percent"),
    Setting("on_unknown", Held.FROZEN, _("If an answer is lost"), _(
        "If the connection breaks before FCM answers, it is unknown whether the message "
        "arrived. “Send again” reaches everyone, and a phone shows one. Choose “Never send "
        "twice” for messages that must not repeat."
    ), rare=True),
    Setting("goal_event", Held.FROZEN, _("Goal"), _(
        "The name of the event that people are meant to bring about, such as “bought”. The result "
        "says how many did. Empty: no goal."
    )),
    Setting("goal_within_seconds", Held.FROZEN, _("Goal counts within"), _(
        "An event counts for the last run that the person opened (or received) before it, if that "
        "was no longer ago. An event counts for one run only."
    ), shown_if="c-if-goal", of="goal_event"),
    Setting("goal_after", Held.FROZEN, _("Goal counts from"), _(
        "Only of devices whose app reports this is it known."
    ), shown_if="c-if-goal", of="goal_event"),
    Setting("goal_value", Held.FROZEN, _("Value of the goal"), _(
        "The property of the event that holds a number, such as “price”: it is summed up. Empty: "
        "events are only counted."
    ), shown_if="c-if-goal", of="goal_event"),
    Setting("analytics_label", Held.FROZEN, _("Analytics label"), _(
        "Firebase's reports count it under this name. Empty: made from the name. Campaigns that "
        "belong together may share one; 100 a day are reported."
    ), rare=True),
)  # fmt: skip

TIMES = tuple(setting.field for setting in SETTINGS if setting.held is Held.TIMES)
# How a campaign is sent: what a launch freezes beside the audience and the texts.
POLICY = tuple(setting.field for setting in SETTINGS if setting.held is not Held.TIMES)
LIVE = tuple(setting.field for setting in SETTINGS if setting.held is Held.LIVE)
GUARDED = tuple(setting.field for setting in SETTINGS if setting.guarded)

MAX_RATE = 100_000  # messages a second
BY_FIELD = {setting.field: setting for setting in SETTINGS}
# The time fields that each kind of schedule uses. NEVER has the values of the other fields.
REPEATS = ("repeat", "cron", "every", "on_days", "weekdays", "days_off", "until")
BY_CLOCK = ("local_time", "best_hour", "passed", "zoneless")
AGAIN = tuple(name for name in BY_CLOCK if name != "passed")  # if it passed, they get the next run
TIMES_OF = {"now": (), "at": ("at", *BY_CLOCK), "recurring": ("at", *REPEATS, *AGAIN)}
NEVER = {
    "at": None,
    "repeat": "",
    "cron": "",
    "every": 1,
    "on_days": "",
    "weekdays": "",
    "days_off": "",
    "until": None,
    "local_time": False,
    "best_hour": False,
    "passed": NEXT_DAY,
    "zoneless": "project",
}


# The fields that each kind of repetition asks for: a page shows no others.
WITH_REPEAT = {
    "daily": ("every", "on_days"),
    "weekly": ("every", "weekdays"),
    "monthly": ("every", "on_days"),
    "cron": ("cron",),
}
# The fields of a run from which its own rate is computed.
OWN_PACE = ("planned", "rate_per_second", "spread_seconds", "opens_per_second", "opens_rate")


def slowest(run: Any) -> tuple[float, str] | None:
    """The rate that a run asks for in messages a second, and the setting that asks for it.

    The slowest of three counts: “at most”, the rate that spreads all its devices over its time,
    and the rate that keeps opens a second below their limit. None: as fast as possible.
    """
    rates = {
        "rate_per_second": run.rate_per_second,
        "spread_seconds": run.planned / run.spread_seconds
        if run.planned and run.spread_seconds
        else None,
        "opens_per_second": run.opens_rate if run.opens_per_second else None,
    }
    return min(((rate, name) for name, rate in rates.items() if rate), default=None)


def switched_on(campaign: Any) -> list[str]:
    """The names of the settings about recipients that are switched on, beside the audience."""
    of_who = (setting for setting in SETTINGS if setting.step == "who")
    return [str(setting.words) for setting in of_who if getattr(campaign, setting.field) is True]


def in_words(row: Any, name: str) -> str:
    """The value of a setting of a campaign or a run, as a person reads it; empty if not set."""
    value, choices = getattr(row, name), dict(row._meta.get_field(name).flatchoices)
    if value in choices:
        return str(choices[value])
    if value is None or value is False:
        return ""
    if value is True:
        return gettext("Yes")
    if name.endswith("_seconds"):
        return moments.in_words(value)
    if value == 0 and name == "control_percent":
        return ""  # no control group
    if BY_FIELD[name].percent:
        return f"{value} %"
    return f"{value:,}" if isinstance(value, int) else str(value)


def frozen_in(run: Any, launched: Any) -> list[tuple[str, str]]:
    """How a run is sent: the name and the frozen value of each setting that has an effect.

    `launched` is the run as it was launched: LIVE settings may have been changed since."""
    names = (name for name in POLICY if not (of := BY_FIELD[name].of) or getattr(run, of))
    settings = ((name, _setting_in_words(run, launched, name)) for name in names)
    rows = [(str(BY_FIELD[name].words), words) for name, words in settings if words]
    return [*_local_time_rows(run), *rows]


def _local_time_rows(run: Any) -> Iterator[tuple[str, str]]:
    if run.hour is None:
        return
    yield str(BY_FIELD["local_time"].words), _local_time_in_words(run)
    passed = dict(run.campaign._meta.get_field("passed").flatchoices)
    text = passed[run.local_time.passed] if run.occurrence == "once" else _("They get the next one")
    yield str(BY_FIELD["passed"].words), str(text)
    if run.local_time.best_hour:
        yield str(BY_FIELD["best_hour"].words), gettext("Yes")


def _local_time_in_words(run: Any) -> str:
    """The run's local time in words, and what happens to people without a time zone."""
    when = date_and_time(run.local_time.wall)
    if not run.local_time.otherwise:
        text = gettext("%(when)s; people without a time zone get nothing")
        return text % {"when": when}
    text = gettext("%(when)s; people without a time zone go by %(zone)s")
    return text % {"when": when, "zone": run.local_time.otherwise}


def _setting_in_words(run: Any, launched: Any, name: str) -> str:
    current, frozen = in_words(run, name), in_words(launched, name)
    if current == frozen:
        return current
    return gettext("%(now)s (%(then)s at the launch)") % {
        "now": current or "–",
        "then": frozen or "–",
    }


def of_step(step: str) -> tuple[str, ...]:
    """The fields of one step of the form, in the order in which the page asks for them."""
    return tuple(setting.field for setting in SETTINGS if setting.step == step)
