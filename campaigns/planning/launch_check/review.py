"""What a launch at this moment would do: the numbers, the samples, and what to know before."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from campaigns.audiences.audience import sample
from campaigns.audiences.selection import PEOPLE_AND_DEVICES, compile_tree
from campaigns.audiences.words import sentence
from campaigns.planning import outlook
from campaigns.planning.campaign import Campaign
from campaigns.planning.launch_check import forecast
from campaigns.planning.launch_check.doubts import doubts
from campaigns.runs.chunk import IN_FLIGHT, WINDOW
from campaigns.runs.run import Run
from campaigns.texts import preview
from notifications.people.contact import Contact
from notifications.postgres.budget import TooSlow, within
from notifications.values.moments import in_words

SAMPLES = 3
SAMPLING_SECONDS = 2.0
AMONG = 12  # people looked at for three who differ


@dataclass
class Review:
    """Everything the last step shows."""

    campaign: Campaign
    problems: dict[str, str]
    said: str
    reach: forecast.Reach
    pace: forecast.Pace
    starts_at: datetime
    coming: list[datetime]
    skipped: list[str]
    warnings: list[str]
    samples: list[preview.Card] = field(default_factory=list)
    longest: preview.Card | None = None

    @property
    def seconds(self) -> float:
        return self.pace.seconds(self.reach.devices)

    @property
    def finishes_at(self) -> datetime:
        return self.starts_at + timedelta(seconds=self.seconds)

    @property
    def in_doubt(self) -> int:
        """How many requests one process can have on the way at the moment it dies."""
        return min(self.reach.devices, WINDOW * IN_FLIGHT)

    @property
    def processes(self) -> int:
        return int(settings.WORKERS)

    @property
    def holds(self) -> bool:
        return self.campaign.on_unknown == Run.OnUnknown.HOLD

    @property
    def possible(self) -> bool:
        return not self.problems and self.reach.devices > 0


def of(campaign: Campaign, now: datetime) -> Review:
    rules = campaign.audience.effective_rules
    coming = []
    if campaign.schedule_kind == Campaign.Schedule.RECURRING:
        coming = campaign.coming(now, 3)
    timed = coming[0] if coming else campaign.at
    problems = campaign.problems(now)
    reach = forecast.NOBODY
    if "audience" not in problems:
        try:
            reach = forecast.exact_reach(campaign.project_id, rules)
        except forecast.Uncountable as error:
            problems["audience"] = f"{campaign.audience}: {' '.join(error.messages)}"
    if "audience" in problems:  # there is nobody to count
        rules = {"any": []}
    review = Review(
        campaign=campaign,
        problems=problems,
        said=sentence(rules, project_id=campaign.project_id),
        reach=reach,
        pace=forecast.pace(campaign.project, campaign.rate_per_second),
        starts_at=max(timed, now) if timed else now,
        coming=coming,
        skipped=[],
        warnings=doubts(campaign.project_id, rules),
    )
    if "template" not in problems:
        try:
            review.skipped = _skipped(campaign, rules)
        except TooSlow:
            review.skipped = [_("Nobody could count them: that takes too long with these rules.")]
        review.warnings += [*campaign.warnings(now), *_time_is_short(review)]
        review.samples, review.longest = _cards(campaign, rules)
    return review


# --- Who would be skipped -------------------------------------------------------------------------


def _skipped(campaign: Campaign, rules: dict[str, Any]) -> list[str]:
    """Per value the text needs: exactly how many devices belong to people without it."""
    content = campaign.template.frozen()
    needed = [v.name for v in preview.variables(content, campaign.project) if v.needed]
    if not needed:
        return []
    where = compile_tree(rules)
    values = [preview.OWN.get(name, "c.attributes ->> %s") for name in needed]
    columns = ", ".join(f"count(*) FILTER (WHERE COALESCE({value}, '') = '')" for value in values)
    asked = [name for name in needed if name not in preview.OWN]
    with within(seconds=forecast.EXACT_SECONDS), connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {columns} FROM {PEOPLE_AND_DEVICES}"
            f" WHERE c.project_id = %s AND d.id IS NOT NULL AND {where.sql}",
            [*asked, campaign.project_id, *where.params],
        )
        counts = cursor.fetchone()
    return [_without(name, count) for name, count in zip(needed, counts, strict=True) if count]


def _without(name: str, count: int) -> str:
    said = ngettext(
        "%(count)s device: its person has no “%(name)s”, and is skipped where the text needs it.",
        "%(count)s devices: their people have no “%(name)s”, and are skipped where the text "
        "needs it.",
        count,
    )
    return said % {"count": f"{count:,}", "name": name}


def _time_is_short(review: Review) -> list[str]:
    campaign, found = review.campaign, []
    if review.seconds > campaign.ttl_seconds:
        words = {"takes": in_words(review.seconds), "shown": in_words(campaign.ttl_seconds)}
        found.append(_("Sending takes about %(takes)s, but it is worth showing for %(shown)s: "
                       "whoever is not reached by then is skipped. Raise the rate, or that time.")
                     % words)  # fmt: skip
    going = Run.objects.filter(project=campaign.project_id, state=Run.State.SENDING).count()
    if going:
        said = ngettext(
            "Another run of this project is sending now; the two share its pace.",
            "%(count)s other runs of this project are sending now; all share its pace.",
            going,
        )
        found.append(said % {"count": going})
    return found


# --- What some of them would read -----------------------------------------------------------------


def _cards(
    campaign: Campaign, rules: dict[str, Any]
) -> tuple[list[preview.Card], preview.Card | None]:
    content = campaign.template.frozen()
    people: list[Contact] = []
    with suppress(TooSlow), within(seconds=SAMPLING_SECONDS):
        people = sample(campaign.project_id, rules, size=AMONG)
    cards = [
        preview.card(content, person, platform=device.platform)
        for person in _different([one for one in people if one.devices.all()])
        for device in list(person.devices.all())[:1]
    ]
    return cards, _longest(campaign, rules)


def _different(people: list[Contact]) -> list[Contact]:
    """Of other languages first: three equal samples show no more than one."""
    first_of = {person.locale: person for person in reversed(people)}
    chosen = list(first_of.values())[:SAMPLES]
    rest = [person for person in people if person not in chosen]
    return [*chosen, *rest][:SAMPLES]


def _longest(campaign: Campaign, rules: dict[str, Any]) -> preview.Card | None:
    """The largest message among those with the longest values, as FCM counts it."""
    content = campaign.template.frozen()
    longest: preview.Card | None = None
    for reader in outlook.longest(campaign.project_id, rules):
        person = Contact(
            external_id=reader.external_id,
            attributes=reader.attributes,
            locale=reader.locale,
            timezone=reader.timezone,
        )
        card = preview.card(content, person, platform=reader.platform)
        if longest is None or card.bytes_used > longest.bytes_used:
            longest = card
    return longest
