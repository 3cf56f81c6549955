"""Filters for times: `{{ run.started_at|in_zone:zone }}`, `{{ seconds|in_words }}`."""

from __future__ import annotations

from datetime import datetime, timedelta

from django import template

from notifications.values import moments

register = template.Library()


@register.filter
def in_zone(moment: datetime | None, zone: str) -> str:
    return moments.in_zone(moment, zone)


@register.filter
def on_its_day(moment: datetime, zone: str) -> str:
    """Format a time with its weekday and zone: in a list, people see which one is a Sunday."""
    return f"{moments.local(moment, zone, moments.WEEKDAY_AND_CLOCK)} {zone}"


@register.filter
def on_its_day_everywhere(moment: datetime, zone: str) -> str:
    """Format a local time with its weekday. It applies in every zone, so no zone is shown."""
    return moments.local(moment, zone, moments.WEEKDAY_AND_CLOCK)


@register.filter
def in_zone_exactly(moment: datetime | None, zone: str) -> str:
    return moments.in_zone(moment, zone, seconds=True)


@register.filter
def in_words(duration: timedelta | float | None) -> str:
    return moments.in_words(duration)


@register.filter
def roughly(duration: timedelta | float | None) -> str:
    return moments.roughly(duration)


@register.filter
def local_exactly(moment: datetime, zone: str) -> str:
    """Format a time with seconds, where the zone is already shown beside it."""
    return moments.local(moment, zone, moments.DAY_AND_SECOND)


@register.filter
def on_the_wall(moment: datetime, zone: str) -> str:
    """Format a local time of a whole minute, which applies in every zone."""
    return moments.local(moment, zone, moments.DAY_AND_CLOCK)


@register.filter
def clock_in(moment: datetime, zone: str) -> str:
    """Format the time of day with seconds, where date and zone are already shown beside it."""
    return moments.local(moment, zone, moments.CLOCK_AND_SECOND)


@register.filter
def minute_in(moment: datetime, zone: str) -> str:
    """Format the time of day of a whole minute."""
    return moments.local(moment, zone, moments.CLOCK)
