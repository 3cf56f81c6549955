"""When: now, at a time, or again and again, as people and programs write a time."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Any, NoReturn
from zoneinfo import ZoneInfo

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns.planning import local
from campaigns.planning.campaign import MAX_EVERY, Campaign
from campaigns.planning.repeats import cron, days_off, holidays, public_holidays, weekdays
from campaigns.runs.policy import BY_CLOCK, NEVER, TIMES_OF
from notifications.api.base import query
from notifications.api.base.fields import CountedList, StrictSerializer
from notifications.api.base.query import takes
from notifications.api.base.view import ApiView
from notifications.values.languages import validate_locale
from notifications.values.moments import YEARS
from notifications.values.zones import validate_zone

TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:\d\d)?", re.ASCII)
EACH = "each"
ON_DAYS = [EACH, *filter(None, Campaign.OnDays.values)]
# The kind to use for each of them.
KIND_OF = {name: kind for kind in reversed(TIMES_OF) for name in TIMES_OF[kind]}


class ScheduleSerializer(StrictSerializer):
    """When to send: now, at a time, or repeatedly."""

    may_lack = frozenset({*NEVER, "holiday_names"})

    kind = serializers.ChoiceField(
        choices=Campaign.Schedule.choices,
        error_messages={"invalid_choice": "Use now, at or recurring."},
    )
    at = serializers.CharField(
        required=False, help_text="RFC 3339 with an offset, or a local time together with timezone."
    )
    timezone = serializers.CharField(
        max_length=64, required=False, validators=[validate_zone], help_text="An IANA name."
    )
    repeat = serializers.ChoiceField(
        choices=Campaign.Repeat.choices,
        required=False,
        help_text="For recurring: daily, weekly or monthly, at the time of the first run (`at`); "
        "or cron, from `at` on.",
        error_messages={"invalid_choice": "Use daily, weekly, monthly or cron."},
    )
    cron = serializers.CharField(
        max_length=cron.LONGEST,
        required=False,
        allow_blank=True,
        help_text="For cron: minute, hour, day of the month, month, day of the week, as in "
        "crontab(5), by `timezone`. At least an hour lies between two.",
    )
    every = serializers.IntegerField(
        min_value=1,
        max_value=MAX_EVERY,
        required=False,
        help_text="For recurring: every so many days, weeks or months. Left out: 1.",
    )
    on_days = serializers.ChoiceField(
        choices=ON_DAYS,
        required=False,
        help_text="For recurring: `workdays` (Monday to Friday) with daily, `last_day` with "
        "monthly. Left out: each.",
        error_messages={"invalid_choice": "Use each, workdays or last_day."},
    )
    weekdays = CountedList(
        child=serializers.ChoiceField(
            choices=weekdays.NAMES,
            error_messages={"invalid_choice": "Use mon, tue, wed, thu, fri, sat and sun."},
        ),
        required=False,
        max_length=len(weekdays.NAMES),
        help_text="For weekly: on these days of the week; weeks begin on Monday. Left out, or "
        "empty: on that of `at`.",
    )
    holiday_names = serializers.DictField(
        child=serializers.CharField(max_length=days_off.LONGEST_NAME),
        required=False,
        help_text="For recurring: what some of the days_off are called, by their date.",
    )
    days_off = CountedList(
        child=serializers.DateField(),
        required=False,
        max_length=days_off.MOST,
        help_text="For recurring: on these days, in its zone, it is left out.",
    )
    holidays = serializers.CharField(
        required=False,
        write_only=True,
        max_length=holidays.LONGEST,
        help_text="For recurring: the text of a calendar file (.ics). Its whole days, from today "
        "to five years ahead, become days_off beside those that are given, by their names.",
    )
    until = serializers.CharField(
        required=False,
        allow_null=True,
        help_text="For recurring: when it ends, in the same format as `at`.",
    )

    local_time = serializers.BooleanField(
        required=False,
        help_text="For at and recurring: by each reader's clock. Everybody gets it when it is the "
        "time of `at`, or of `cron`, as a clock in `timezone` shows it, where they are.",
    )
    best_hour = serializers.BooleanField(
        required=False,
        help_text="With local_time: at each person's best hour of that day, in which they opened "
        "most messages in the last 90 days. Whoever opened too few gets it at the time of `at`.",
    )
    passed = serializers.ChoiceField(
        choices=local.Passed.choices,
        required=False,
        help_text="For at, with local_time: what becomes of readers where that time has passed "
        "when it is launched, by more than max_lateness_seconds. Of a recurring campaign they get "
        "the next one.",
        error_messages={"invalid_choice": "Use next_day, now or skip."},
    )
    zoneless = serializers.ChoiceField(
        choices=local.Zoneless.choices,
        required=False,
        help_text="With local_time: by which zone people go whose own nobody knows: the project's, "
        "that of the campaign, or they get nothing.",
        error_messages={"invalid_choice": "Use project, campaign or skip."},
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """The campaign's own fields."""
        zone = attrs.get("timezone")
        fields = {
            "schedule_kind": attrs["kind"],
            "timezone": zone or self.context["project"].timezone,
        }
        _refuse_fields_of_other_kinds(attrs)
        if attrs["kind"] == Campaign.Schedule.NOW:
            return {**fields, **NEVER}
        if "at" not in attrs:
            _refuse("at", "Say when.")
        fields |= {**NEVER, "at": moment_of("at", attrs["at"], zone)}
        if not attrs.get("local_time"):
            _refuse_by_clock(attrs)
        fields |= {name: attrs[name] for name in BY_CLOCK if name in attrs}
        if attrs["kind"] == Campaign.Schedule.RECURRING:
            if "repeat" not in attrs:
                _refuse("repeat", "Say daily, weekly, monthly or cron.")
            fields |= {name: attrs[name] for name in ("repeat", "cron", "every") if name in attrs}
            fields["on_days"] = "" if attrs.get("on_days", EACH) == EACH else attrs["on_days"]
            fields["weekdays"] = ",".join(attrs.get("weekdays", ()))
            off = _days_off(attrs)
            fields |= {
                "days_off": days_off.written(off),
                "holiday_names": days_off.stored_names(off),
            }
            if attrs.get("until") is not None:
                fields["until"] = moment_of("until", attrs["until"], zone)
        return fields


def _refuse_fields_of_other_kinds(attrs: dict[str, Any]) -> None:
    for name in NEVER:
        if name in attrs and name not in TIMES_OF[attrs["kind"]]:
            _refuse(name, f"Leave it out, or use the kind {KIND_OF[name]}.")
    for name in ("holidays", "holiday_names"):
        if name in attrs and attrs["kind"] != Campaign.Schedule.RECURRING:
            _refuse(name, "Leave it out, or use the kind recurring.")


def _refuse_by_clock(attrs: dict[str, Any]) -> None:
    """What means nothing without local_time. GET shows it as it is by default."""
    if attrs.get("best_hour"):
        _refuse("best_hour", "Set local_time, too: their hour is one by their own clock.")
    for name in ("passed", "zoneless"):
        if attrs.get(name, NEVER[name]) != NEVER[name]:
            _refuse(name, "Set local_time, too: without it this means nothing.")


def _days_off(attrs: dict[str, Any]) -> dict[date, str]:
    """Each with what it is called."""
    days = dict.fromkeys(attrs.get("days_off", ()), "")
    if "holidays" in attrs:
        try:
            days = days_off.beside(
                days, holidays.parse_calendar(attrs["holidays"], timezone.now().date())
            )
            days_off.count(days)
        except ValueError as error:
            _refuse("holidays", str(error))
    by_date = {day.isoformat(): day for day in days}
    for iso_date, name in attrs.get("holiday_names", {}).items():
        if iso_date not in by_date:
            _refuse("holiday_names", f"{iso_date[:40]} is none of the days_off.")
        if not days_off.is_name(name):
            _refuse("holiday_names", f"What {iso_date} is called is one line, and begins no date.")
        days[by_date[iso_date]] = name
    return days


def schedule_json(campaign: Campaign) -> dict[str, Any]:
    """The schedule as a program would write it."""
    names = TIMES_OF[campaign.schedule_kind]
    values = {name: getattr(campaign, name) for name in names}
    if "local_time" in values and not campaign.local_time:  # a page may have left the rest behind
        values |= {name: NEVER[name] for name in BY_CLOCK if name in values}
    if "days_off" in values:
        off = days_off.days_off_of(campaign)
        values["days_off"] = [day.isoformat() for day in off]
        values["holiday_names"] = days_off.stored_names(off)
        values["on_days"] = campaign.on_days or EACH
        values["weekdays"] = campaign.weekdays.split(",") if campaign.weekdays else []
    if campaign.repeat != Campaign.Repeat.CRON:
        values.pop("cron", None)
    return {"kind": campaign.schedule_kind, **values, "timezone": campaign.timezone}


def moment_of(name: str, text: str, zone: str | None) -> datetime:
    try:
        moment = datetime.fromisoformat(text.upper()) if TIME.fullmatch(text) else None
    except ValueError:
        moment = None
    if moment is None:
        _refuse(name, "Not a time in RFC 3339, e.g. 2026-05-31T09:00:00+09:00.")
    _refuse_far(name, moment)
    if moment.tzinfo is not None:
        at = moment.astimezone(UTC)
    elif zone is None:
        _refuse(name, "This time has no UTC offset: add one, or give a timezone.")
    else:
        # The first of two, when a clock is set back: fold is 0.
        at = moment.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
        if at.astimezone(ZoneInfo(zone)).replace(tzinfo=None) != moment:
            _refuse(name, f"There is no such time in {zone}: the clocks are turned forward then.")
    _refuse_far(name, at)
    return at


def _refuse_far(name: str, moment: datetime) -> None:
    if moment.year not in YEARS:
        _refuse(name, f"Choose a year from {YEARS[0]} to {YEARS[-1]}.")


def _refuse(name: str, message: str) -> NoReturn:
    raise serializers.ValidationError({name: message})


# --- Public holidays ------------------------------------------------------------------------------


class HolidaysAsked(serializers.Serializer[Any]):
    """The query."""

    country = serializers.CharField(max_length=40)
    part = serializers.CharField(max_length=40, required=False, default="")
    until = serializers.IntegerField(required=False)
    language = serializers.CharField(max_length=35, default="en", validators=[validate_locale])

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        today = timezone.now().date()
        attrs = {"until": today.year + 1, **attrs}
        wrong = public_holidays.problems(attrs["country"], attrs["part"], attrs["until"], today)
        if wrong:
            raise serializers.ValidationError(wrong)
        return attrs


class HolidayPartSerializer(serializers.Serializer[Any]):
    """A part of the country with holidays of its own."""

    code = serializers.CharField()
    name = serializers.CharField()


class HolidaysSerializer(serializers.Serializer[Any]):
    """As `days_off` and `holiday_names` of a schedule."""

    days_off = serializers.ListField(child=serializers.DateField())
    holiday_names = serializers.DictField(child=serializers.CharField())
    parts = HolidayPartSerializer(many=True)


class Holidays(ApiView):
    @takes(
        query.text("country", "Its code: KR, DE, US.", longest=40, required=True),
        query.text("part", "One of the country's `parts`, such as BY.", longest=40),
        OpenApiParameter("until", int, description="The last year; next year."),
        query.text(
            "language",
            "Of the names, where they are known in it. Default: en.",
            f"^{query.LANGUAGE}$",
            longest=35,
        ),
    )
    @extend_schema(operation_id="holidays_retrieve", responses=HolidaysSerializer)
    def get(self, request: Request) -> Response:
        """The public holidays of a country, from today to the end of next year, for the schedule of
        a recurring campaign."""
        values = self.given(HolidaysAsked, request.query_params.dict())
        choice = values["country"], values["part"], values["until"]
        days = public_holidays.find_holidays(*choice, timezone.now().date(), values["language"])
        return Response(
            {
                "days_off": [day.isoformat() for day in days],
                "holiday_names": days_off.stored_names(days),
                "parts": [
                    {"code": code, "name": name}
                    for code, name in public_holidays.parts(values["country"])
                ],
            }
        )
