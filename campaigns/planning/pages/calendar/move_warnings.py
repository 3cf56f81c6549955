"""Warnings before a run is moved: neighbours, delays, quiet hours and expiry at the new time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from campaigns.audiences import estimating, reach
from campaigns.audiences.reach import Reach
from campaigns.forecast.other_runs import run_sizes
from campaigns.forecast.other_runs.reschedule import Moved, moved
from campaigns.forecast.solver.rules import Skip
from campaigns.launch_check import quiet_hours_check
from campaigns.runs.run import Run
from notifications.postgres.budget import Busy, clock, slow_query_slot, until
from notifications.values.moments import DAY_AND_CLOCK, in_words, local, roughly

NEAR = timedelta(minutes=30)
NEIGHBOURS_NAMED = 3


@dataclass
class MoveWarnings:
    """A run at another time; or an occurrence of its series without a run, due at `one`."""

    run: Run
    to: datetime
    now: datetime
    clock: str
    one: datetime | None = None

    @cached_property
    def reach(self) -> Reach | None:
        """Who would be reached. None: the rules are broken or too slow. It can still be moved."""
        with suppress(ValidationError):
            return reach.exact(self.run.project_id, self.run.rules)
        return None

    @cached_property
    def moved(self) -> Moved | None:
        """The effect on the quota. None: counting took too long. It can still be moved."""
        with (
            suppress(Busy),
            slow_query_slot(self.run.project_id),
            until(clock() + run_sizes.COUNTING_SECONDS),
        ):
            return moved(self.run, self.to, self.now, one=self.one)
        return None

    @property
    def ends(self) -> datetime | None:
        return self.moved.goes.ends_at if self.moved else None

    @cached_property
    def sentences(self) -> list[str]:
        warnings = [self._neighbours(), *self._slower(), self._quiet(), self._too_late()]
        return [text for text in [*warnings, self._nobody()] if text]

    def _neighbours(self) -> str:
        lasts = max(NEAR, self.ends - self.to) if self.ends else NEAR
        unfinished = Run.objects.filter(project=self.run.project_id, finished_at=None)
        near = unfinished.filter(scheduled_at__gt=self.to - NEAR, scheduled_at__lt=self.to + lasts)
        if self.one is None:
            near = near.exclude(pk=self.run.pk)
        near = near.select_related("campaign")
        neighbours = list(near[: NEIGHBOURS_NAMED + 1])
        if not neighbours:
            return ""
        names = ", ".join(f"“{run.campaign}”" for run in neighbours[:NEIGHBOURS_NAMED])
        text = ngettext(
            "Near that time there is also %(names)s: some people may hear from you twice, and "
            "both share the project's rate.",
            "Near that time there are also %(names)s: some people may hear from you more than "
            "once, and all share the project's rate.",
            len(neighbours),
        )
        return text % {"names": names + (" …" if len(neighbours) > NEIGHBOURS_NAMED else "")}

    def _slower(self) -> Iterator[str]:
        """Campaigns that it would slow down at the new time."""
        slowed = self.moved.slower if self.moved else []
        mine = [
            campaign
            for campaign in slowed
            if campaign.planned.campaign.project_id == self.run.project_id
        ]
        for campaign in mine[:NEIGHBOURS_NAMED]:
            text = _("“%(campaign)s” would end %(later)s later, about %(when)s.")
            yield text % {
                "campaign": campaign.planned.campaign,
                "later": in_words(campaign.later),
                "when": self._local(campaign.ends_at),
            }
        if more := len(slowed) - len(mine[:NEIGHBOURS_NAMED]):
            text = ngettext(
                "%(count)s more would end later.", "%(count)s more would end later.", more
            )
            yield text % {"count": more}

    def _too_late(self) -> str:
        """Messages that expire as the rate is too low. Quiet hours have their own warning."""
        if self.moved is None:
            return ""
        count = self.moved.goes.skipped.get(Skip.EXPIRED, 0)
        text = ngettext(
            "For %(count)s message it would be too late: it expires before its turn.",
            "For %(count)s messages it would be too late: they expire before their turn.",
            count,
        )
        return text % {"count": f"{count:,}"} if count else ""

    def _quiet(self) -> str:
        if self.reach is None or not self.reach.devices:
            return ""
        seconds = estimating.SAMPLE_SECONDS
        return quiet_hours_check.warning(
            self.run, self.run.rules, self.to, self.clock, seconds=seconds
        )

    def _nobody(self) -> str:
        if self.reach is None:
            return _("The people its rules select could not be counted.")
        return "" if self.reach.devices else _("At the moment, nobody would be reached.")

    @property
    def context(self) -> dict[str, Any]:
        """Template context for the dialog's table."""
        return {
            "said": self._local(self.to),
            "reach": self.reach,
            "sent_to": self.moved.goes.asks.gets_it if self.moved else None,
            "meets": self.sentences,
            "takes": roughly(self.ends - self.to) if self.ends else "",
            "ends": self._local(self.ends) if self.ends else "",
        }

    def _local(self, at: datetime) -> str:
        """The time without its zone, which is shown beside the field."""
        return local(at, self.clock, DAY_AND_CLOCK)
