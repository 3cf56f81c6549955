"""The dialog that moves a scheduled run: what it would meet there, before it is moved."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.core.exceptions import ValidationError
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from campaigns.admin.calendar import span as calendar_span
from campaigns.audiences import estimating, reach
from campaigns.audiences.reach import Reach
from campaigns.planning import moving
from campaigns.planning.launch_check import quiet
from campaigns.planning.quota import sizes
from campaigns.planning.quota.moved import Moved, moved
from campaigns.planning.solver.rules import Skip
from campaigns.runs.run import Run
from campaigns.verbs import MOVE
from notifications.admin.furniture.dialogs import Dialog
from notifications.admin.furniture.wall_clock import WallClock
from notifications.postgres.budget import Busy, clock, one_of_few, until
from notifications.values.moments import (
    DAY_AND_CLOCK,
    NoSuchTime,
    in_words,
    local,
    on_the_clock,
    roughly,
    short,
)
from notifications.values.zones import known_zones

NEAR = timedelta(minutes=30)
NEIGHBOURS_NAMED = 3
SHOWS_IT = {
    "hx-trigger": "change",
    "hx-target": "#moves",
    "hx-select": "#moves",
    "hx-select-oob": "#id_looked_at",
    "hx-swap": "outerHTML",
    "hx-include": "#id_zone",
    "hx-sync": "this:replace",
}
CHOOSE = gettext_lazy("Choose a date and a time.")


class MoveDialog(Dialog):
    template = "admin/campaigns/campaign/move.html"
    at = WallClock(
        label=gettext_lazy("New local time"),
        error_messages={"required": CHOOSE, "invalid": CHOOSE},
    )
    # Of the page it was opened from: its zone and view, the time it showed, what was looked at.
    zone = forms.CharField(widget=forms.HiddenInput, required=False)
    view = forms.CharField(widget=forms.HiddenInput, required=False)
    was = forms.DateTimeField(widget=forms.HiddenInput)
    looked_at = forms.CharField(widget=forms.HiddenInput, required=False)

    def __init__(self, *args: Any, run: Run, now: datetime, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.run, self.now = run, now
        # The calendar says its zone; a run's own page shows its project's.
        asked = self.data.get("zone") or self.request.GET.get("zone")
        self.clock = str(asked) if asked in known_zones() else run.project.timezone
        wall = self._wall_of(run.scheduled_at)
        if day := calendar_span.day_of(self.request.GET.get("day")):
            wall = datetime.combine(day, wall.time())
        wall = self._chosen() or wall
        self.fields["at"].widget.attrs |= {**SHOWS_IT, "hx-get": self.request.path}
        self.fields["at"].help_text = _("Local time in %(zone)s.") % {"zone": self.clock}
        self.initial = {
            "at": wall,
            "zone": self.clock,
            "view": self.request.GET.get("view"),
            "was": run.scheduled_at.isoformat(),
            "looked_at": wall.isoformat(),
        }

    def _chosen(self) -> datetime | None:
        """The time in the field, which asks for what it meets there as soon as it is changed."""
        with suppress(ValidationError):
            chosen: datetime | None = WallClock(required=False).clean(self.request.GET.get("at"))
            return chosen
        return None

    def _wall_of(self, moment: datetime) -> datetime:
        return moment.astimezone(ZoneInfo(self.clock)).replace(tzinfo=None)

    @property
    def title(self) -> str:
        return str(MOVE.question % {"campaign": self.run.campaign})

    @property
    def possible(self) -> bool:
        return MOVE.fits(self.run)

    @property
    def to(self) -> datetime:
        """Raises NoSuchTime."""
        return on_the_clock(self.wall, self.clock)

    @property
    def wall(self) -> datetime:
        wall: datetime = self.cleaned_data["at"] if self.is_bound else self.initial["at"]
        return wall

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if "at" not in cleaned:
            return cleaned
        if why := self.refusal:
            self.add_error("at", why)
        elif cleaned["looked_at"] != self.wall.isoformat() and self.meets:
            # Taken as it is, each value of what a browser sent would be a list.
            self.data = {**dict(self.data.items()), "looked_at": self.wall.isoformat()}
            raise ValidationError(_("Check what else is sent at that time, then move it."))
        return cleaned

    @cached_property
    def refusal(self) -> str:
        try:
            return moving.problem(self.run, self.to, self.now)
        except NoSuchTime as error:
            return str(error)

    @cached_property
    def reach(self) -> Reach | None:
        """None: its rules are broken, or hold PostgreSQL up. It can still be moved."""
        with suppress(ValidationError):
            return reach.exact(self.run.project_id, self.run.rules)
        return None

    @cached_property
    def moved(self) -> Moved | None:
        """None: nobody could count them in time. It can still be moved."""
        with (
            suppress(Busy),
            one_of_few(self.run.project_id),
            until(clock() + sizes.COUNTING_SECONDS),
        ):
            return moved(self.run, self.to, self.now)
        return None

    @property
    def ends(self) -> datetime | None:
        return self.moved.goes.ends_at if self.moved else None

    @cached_property
    def meets(self) -> list[str]:
        """What a person should know before moving it there."""
        said = [self._neighbours(), *self._slower(), self._quiet(), self._too_late()]
        return [text for text in [*said, self._nobody()] if text]

    def _neighbours(self) -> str:
        lasts = max(NEAR, self.ends - self.to) if self.ends else NEAR
        others = Run.objects.filter(project=self.run.project_id, finished_at=None)
        near = others.filter(scheduled_at__gt=self.to - NEAR, scheduled_at__lt=self.to + lasts)
        near = near.exclude(pk=self.run.pk).select_related("campaign")
        found = list(near[: NEIGHBOURS_NAMED + 1])
        if not found:
            return ""
        names = ", ".join(f"“{run.campaign}”" for run in found[:NEIGHBOURS_NAMED])
        text = ngettext(
            "Near that time there is also %(names)s: some people may hear from you twice, and "
            "both share the project's rate.",
            "Near that time there are also %(names)s: some people may hear from you more than "
            "once, and all share the project's rate.",
            len(found),
        )
        return text % {"names": names + (" …" if len(found) > NEIGHBOURS_NAMED else "")}

    def _slower(self) -> Iterator[str]:
        """Whom it would slow down there."""
        found = self.moved.slower if self.moved else []
        mine = [one for one in found if one.planned.campaign.project_id == self.run.project_id]
        for one in mine[:NEIGHBOURS_NAMED]:
            said = _("“%(campaign)s” would end %(later)s later, about %(when)s.")
            yield said % {
                "campaign": one.planned.campaign,
                "later": in_words(one.later),
                "when": self._local(one.ends_at),
            }
        if more := len(found) - len(mine[:NEIGHBOURS_NAMED]):
            said = ngettext(
                "%(count)s more would end later.", "%(count)s more would end later.", more
            )
            yield said % {"count": more}

    def _too_late(self) -> str:
        """For whom the rate is too low; who would wake too late is said with the quiet hours."""
        if self.moved is None:
            return ""
        count = self.moved.goes.skipped.get(Skip.EXPIRED, 0)
        said = ngettext(
            "For %(count)s message it would be too late: it expires before its turn.",
            "For %(count)s messages it would be too late: they expire before their turn.",
            count,
        )
        return said % {"count": f"{count:,}"} if count else ""

    def _quiet(self) -> str:
        if self.reach is None or not self.reach.devices:
            return ""
        seconds = estimating.SAMPLE_SECONDS
        return quiet.warning(self.run, self.run.rules, self.to, seconds=seconds)

    def _nobody(self) -> str:
        if self.reach is None:
            return _("The people its rules select could not be counted.")
        return "" if self.reach.devices else _("At the moment, nobody would be reached.")

    def context(self) -> dict[str, Any]:
        settled = {"run": self.run, "was": self._local(self.run.scheduled_at)}
        if not self.possible or (self.is_bound and "at" not in self.cleaned_data):
            return settled | {"refusal": "" if self.possible else self.refusal}
        if self.refusal:  # said by the field once it was sent, and not before a time was chosen
            untouched = self.wall == self._wall_of(self.run.scheduled_at)
            return settled | {"refusal": "" if self.is_bound or untouched else self.refusal}
        return settled | {
            "said": self._local(self.to),
            "reach": self.reach,
            "meets": self.meets,
            "takes": roughly(self.ends - self.to) if self.ends else "",
            "ends": self._local(self.ends) if self.ends else "",
        }

    def _local(self, at: datetime) -> str:
        """The zone stands beside the field."""
        return local(at, self.clock, DAY_AND_CLOCK)

    @property
    def said(self) -> str:
        return short(self.to, self.clock)
