"""“When” panel: what the third step's fields mean as they are typed: send days and duration."""

from __future__ import annotations

from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import islice
from typing import Any

from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from campaigns.audiences import estimating, reach
from campaigns.canary import choose_people, in_words
from campaigns.forecast import rate_forecast
from campaigns.forecast.course import foresee
from campaigns.forecast.skips import expected_devices
from campaigns.launch_check import clocks, departures, quiet_hours_check
from campaigns.launch_check.launch_report import REPORT_SECONDS
from campaigns.planning import local
from campaigns.planning.campaign import (
    MAX_EVERY,
    MAX_FIRST,
    MAX_LEAST,
    MAX_SPREAD,
    MIN_SPREAD,
    Campaign,
)
from campaigns.planning.campaign_problems import of_pace
from campaigns.planning.repeats import (
    days_off,
    holidays,
    moved_occurrences,
    public_holidays,
    repeating,
)
from campaigns.planning.repeats.cron import Cron
from campaigns.planning.repeats.moved_occurrences import Occurrence
from campaigns.planning.repeats.rhythm import Rhythm
from campaigns.runs.local_time import LocalTime
from campaigns.runs.policy import MAX_RATE, WITH_REPEAT
from notifications.admin.ui.wall_clock import WallClock
from notifications.pacing import load
from notifications.postgres.budget import clock, until
from notifications.values.moments import NoSuchTime, comes_twice, on_the_clock, seconds_of
from notifications.values.zones import unknown_zone_message, zone_of

TIMES_SHOWN = 10
PUBLIC = "public_country"  # the name of a field that is shown on request


@dataclass
class SchedulePreview:
    """The form's current schedule, saved or not, and what follows from it."""

    kind: str = Campaign.Schedule.NOW
    zone: str = "UTC"
    times: list[Occurrence] = field(default_factory=list)
    ends: bool = False  # no time follows those shown
    note: str = ""
    local: LocalTime | None = None  # set if it is sent in local time
    # How many would get it at night, or later.
    asleep: (
        quiet_hours_check.NightShare
        | quiet_hours_check.QuietHoursWait
        | clocks.LocalTimeSpread
        | None
    ) = None
    selected: int = 0  # devices, including skipped ones
    devices: int = 0  # devices, without skipped ones
    most: bool = False  # one per person: later times skip who got an earlier one
    pace: rate_forecast.RateForecast | None = None
    first: str = ""  # the canary in words: its size and wait
    goes_first: int = 0  # devices
    wait: int = 0  # seconds
    last_leaves: datetime | None = None  # None: counting took too long, or nothing is sent

    @property
    def seconds(self) -> float:
        return self.pace.seconds(self.devices) + self.wait if self.pace else 0

    @property
    def starts_at(self) -> datetime | None:
        return self.times[0].due if self.times else None

    @property
    def finishes_at(self) -> datetime | None:
        if self.starts_at is None:
            return None
        alone = self.starts_at + timedelta(seconds=self.seconds)
        return self.last_leaves or clocks.ends(self.asleep, alone)


def parse(posted: Any, campaign: Campaign | None, now: datetime) -> SchedulePreview:
    typed = posted.get("timezone", "").strip()
    when = SchedulePreview(kind=posted.get("schedule_kind", ""), zone=zone_of(typed))
    if not when.zone:
        when.note = (
            unknown_zone_message(typed) if typed else _("Choose a time zone, e.g. Asia/Seoul.")
        )
        when.zone = "UTC"
    elif when.kind != Campaign.Schedule.NOW:
        try:
            _find_times(when, posted, now, campaign)
        except (ValidationError, NoSuchTime) as error:
            problem = error.messages[0] if isinstance(error, ValidationError) else str(error)
            when.note = problem
    if campaign is not None:
        _find_pace(when, posted, campaign, now)
        _find_first(when, posted, campaign)
        _find_course(when, posted, campaign, now)
    return when


def _find_pace(when: SchedulePreview, posted: Any, campaign: Campaign, now: datetime) -> None:
    try:
        when.devices = _sent_to(when, campaign, now)
        when.most = campaign.once_each
    except ValidationError as error:
        when.note = when.note or error.messages[0]
    when.pace = rate_forecast.forecast_rate(
        campaign.project,
        _rate(posted),
        when.devices,
        spread_seconds=_spread(posted),
        opens_per_second=_whole(posted, "opens_per_second", MAX_RATE) or None,
        load=load.newest_report(campaign.project) if when.kind == Campaign.Schedule.NOW else None,
    )


def _sent_to(when: SchedulePreview, campaign: Campaign, now: datetime) -> int:
    """How many devices it is sent to, as in the review; all, if counting skips takes too long."""
    rules = campaign.audience.effective_rules
    reached = reach.quick(campaign.project_id, rules)
    when.selected = reached.devices
    if not expected_devices.is_readable(campaign):
        return reached.devices
    causes = expected_devices.causes(campaign, when.starts_at or now, when.local)
    limit = estimating.SAMPLE_SECONDS
    lost = expected_devices.skips(campaign, rules, reached, causes, seconds=limit)
    devices = expected_devices.devices(reached, lost)
    return reached.devices if devices is None else devices


def _find_course(when: SchedulePreview, posted: Any, campaign: Campaign, now: datetime) -> None:
    """Find who waits for local time, and when the last message leaves, as in the review."""
    starts_at = now if when.kind == Campaign.Schedule.NOW else when.starts_at
    if not when.devices or starts_at is None:
        return
    draft = copy(campaign)
    draft.ttl_seconds = _ttl(posted) or campaign.ttl_seconds
    draft.timezone, draft.schedule_kind = when.zone, when.kind
    draft.first_wait_seconds = when.wait
    rules, limit = campaign.audience.effective_rules, estimating.SAMPLE_SECONDS
    try:
        zones = clocks.zones(draft, rules, when.local, seconds=limit)
    except reach.Uncountable:
        return
    when.asleep = clocks.check_clocks(draft, starts_at, when.local, zones)
    if when.kind == Campaign.Schedule.AT and when.pace:
        hours = departures.rules_of(draft, starts_at, when.local, when.goes_first)
        with until(clock() + REPORT_SECONDS):
            asks, competing = departures.request_and_capacity(
                draft, hours, zones, when.devices, when.pace, now
            )
        course = foresee(asks.kinds, asks.gets_it, hours, competing.capacity, exact=False)
        when.last_leaves = course.ends_at


def _find_times(
    when: SchedulePreview, posted: Any, now: datetime, campaign: Campaign | None
) -> None:
    wall = WallClock(required=False).clean(posted.get("at", ""))
    if wall is None:
        raise ValidationError(_("Choose a date and a time."))
    first = on_the_clock(wall, when.zone)
    if comes_twice(wall, when.zone):
        when.note = _("That time occurs twice that night; the first one is used.")
    draft = _draft_of(posted, campaign, first, when.zone)
    if when.kind == Campaign.Schedule.AT:
        if local.is_over(draft, now):
            raise ValidationError(_("This time has passed. Choose a later one."))
        when.times = [moved_occurrences.occurrence(draft, first)]
    else:
        _find_repeats(when, posted, draft, now)
    if campaign is not None:
        next_one = when.times[0].instant
        when.local = local.launched_at(draft, next_one, max(draft.begins(next_one), now))


def _find_repeats(when: SchedulePreview, posted: Any, draft: Campaign, now: datetime) -> None:
    upcoming = list(islice(_rhythm(posted, draft).after(now), TIMES_SHOWN + 1))
    if not upcoming:
        raise ValidationError([*repeating.none_left(draft, now).values()])
    when.times = [moved_occurrences.occurrence(draft, at) for at in upcoming[:TIMES_SHOWN]]
    when.ends = len(upcoming) <= TIMES_SHOWN
    if wrong := local.problems(draft).get("best_hour"):
        when.note = wrong
    elif draft.at and draft.at <= now and not when.note:
        when.note = _("The first time has passed: it begins with the next one.")
    elif draft.repeat != repeating.BY_CRON and upcoming[0] != draft.at and not when.note:
        when.note = _("The first time is none of its days: it begins with the next one.")


def _draft_of(posted: Any, campaign: Campaign | None, at: datetime, zone: str) -> Campaign:
    """A copy of the campaign with the form's current times, never saved."""
    draft = copy(campaign) if campaign is not None else Campaign()
    draft.schedule_kind = posted["schedule_kind"]
    draft.at, draft.timezone, draft.local_time = at, zone, "local_time" in posted
    draft.best_hour = "best_hour" in posted
    for name, known in (("passed", local.Passed), ("zoneless", local.Zoneless)):
        if posted.get(name) in known.values:
            setattr(draft, name, posted[name])
    return draft


def _rhythm(posted: Any, draft: Campaign) -> Rhythm | Cron:
    """The form's rhythm or cron. Raises ValidationError."""
    if posted.get("repeat") not in Campaign.Repeat.values:
        raise ValidationError(_("Choose how often."))
    end = WallClock(required=False).clean(posted.get("until", ""))
    draft.until = on_the_clock(end, draft.timezone) if end else None
    draft.repeat = posted["repeat"]
    draft.days_off = days_off.written(_left_out(posted))
    fields = WITH_REPEAT[draft.repeat]
    draft.cron = posted.get("cron", "") if "cron" in fields else ""
    draft.every = _every(posted) if "every" in fields else 1
    draft.on_days = _on_days(posted, draft.every) if "on_days" in fields else ""
    draft.weekdays = ",".join(posted.getlist("weekdays")) if "weekdays" in fields else ""
    try:
        return draft.rhythm
    except ValueError as error:
        raise ValidationError(str(error)) from error


def _left_out(posted: Any) -> frozenset[date]:
    try:
        return days_off.parse(posted.get("days_off", ""))
    except ValueError as error:
        raise ValidationError(str(error)) from error


def _every(posted: Any) -> int:
    """The form's interval. Raises ValidationError."""
    every = _whole(posted, "every", MAX_EVERY) if posted.get("every") else 1
    if not every:
        text = _("Every so many: write a whole number from 1 to %(most)s.")
        raise ValidationError(text % {"most": MAX_EVERY})
    return every


def _on_days(posted: Any, every: int) -> str:
    """The form's days of a month or year. Raises ValidationError."""
    on_days: str = posted.get("on_days", "")
    for problem in repeating.days_problems(posted["repeat"], every, on_days).values():
        raise ValidationError(problem)
    return on_days


@dataclass(frozen=True)
class PublicHolidays:
    """The chosen public holidays: of a country or a part of it, to the end of a year."""

    today: date
    country: str
    part: str
    until: int

    @classmethod
    def read(cls, posted: Any, today: date) -> PublicHolidays:
        """Read the choice. Default: the country of the campaign's time zone, this year and next."""
        zone = zone_of(posted.get("timezone", ""))
        until = posted.get("public_until", "")
        return cls(
            today,
            posted.get(PUBLIC) or public_holidays.country_of(zone),
            posted.get("public_part", ""),
            int(until) if until.isdecimal() and len(until) == 4 else today.year + 1,
        )

    def countries(self) -> list[tuple[str, str]]:
        return public_holidays.countries()

    def parts(self) -> list[tuple[str, str]]:
        return public_holidays.parts(self.country)

    def years(self) -> list[tuple[int, str]]:
        first, *later_years = public_holidays.years(self.today)
        return [(first, str(first)), *((last, f"{first}–{last}") for last in later_years)]

    def days(self) -> dict[date, str]:
        """The holidays with their names. Raises ValidationError."""
        if not self.country:
            raise ValidationError(_("Choose a country."))
        choice = self.country, self.part, self.until, self.today
        for problem in public_holidays.problems(*choice).values():
            raise ValidationError(problem)
        return public_holidays.find_holidays(*choice, get_language() or "en")


def holidays_of_file(file: UploadedFile[Any] | None, today: date) -> holidays.Taken:
    """The file's whole days, and the names of what could not be read. Raises ValidationError."""
    if file is None:
        raise ValidationError(_("Choose a calendar file (.ics)."))
    try:
        # Of a file that is too large, read just enough to refuse it.
        text = file.read(holidays.LONGEST + 1).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = _("This is no calendar file (.ics): it is no UTF-8 text. Save it as UTF-8.")
        raise ValidationError(message) from error
    try:
        return holidays.take(text, today)
    except ValueError as error:
        raise ValidationError(str(error)) from error


def with_holidays(typed: str, taken: dict[date, str]) -> str:
    """The typed days off with these days added. Raises ValidationError."""
    try:
        days = days_off.beside(days_off.named(typed), taken)
        days_off.count(days)
    except ValueError as error:
        raise ValidationError(str(error)) from error
    return days_off.in_lines(days)


def _rate(posted: Any) -> int | None:
    return _whole(posted, "rate_per_second", MAX_RATE) or None


def _spread(posted: Any) -> int | None:
    """The time to spread over, in seconds. None while the field's value is not a valid one."""
    seconds = seconds_of(posted.get("spread_seconds", ""))
    return seconds if seconds and MIN_SPREAD <= seconds <= MAX_SPREAD else None


def _ttl(posted: Any) -> int | None:
    """The time to live, in seconds. None while the field's value is not one that FCM accepts."""
    ttl = Campaign._meta.get_field("ttl_seconds")
    with suppress(ValidationError):
        return int(ttl.clean(seconds_of(posted.get("ttl_seconds", "")), None))
    return None


@dataclass(frozen=True)
class First:
    """The form's current canary."""

    first_percent: int | None
    first_least: int
    first_wait_seconds: int


def _find_first(when: SchedulePreview, posted: Any, campaign: Campaign) -> None:
    """Find the canary's size and wait. Leaves out what “Save” would refuse."""
    percent = _whole(posted, "first_percent", MAX_FIRST)
    least = _whole(posted, "first_least", MAX_LEAST)
    wait = seconds_of(posted.get("first_wait_seconds", ""))
    if not (percent and least and wait):
        return
    first = First(percent, least, wait)
    draft = copy(campaign)
    draft.schedule_kind = when.kind
    draft.local_time = "local_time" in posted and when.kind != Campaign.Schedule.NOW
    draft.first_percent, draft.first_wait_seconds = percent, wait
    draft.spread_seconds, draft.best_hour = None, False
    draft.ttl_seconds = _ttl(posted) or campaign.ttl_seconds
    if wrong := of_pace(draft):
        when.note = when.note or next(iter(wrong.values()))
        return
    when.first = in_words.foretold(when.selected, first)
    when.goes_first = choose_people.size_of(when.selected, percent, least)
    when.wait = choose_people.wait_of(when.selected, first)


def _whole(posted: Any, name: str, most: int) -> int:
    """The posted whole number; 0 if it is not one from 1 to `most`."""
    typed = posted.get(name, "").strip()
    number = int(typed) if typed.isdecimal() and len(typed) <= len(str(most)) else 0
    return number if number <= most else 0
