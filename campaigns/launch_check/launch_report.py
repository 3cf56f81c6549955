"""The launch report: what a launch now would do, and what to know before.

The campaign's last step, the launch dialog and the API show it. Each part is computed when it is
first needed, within its own time budget and what is left of the report's.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property, wraps
from typing import Any, TypeVar

from django.conf import settings
from django.db.models import prefetch_related_objects
from django.utils.translation import gettext as _

from campaigns.audiences import reach
from campaigns.audiences.behavior.kind import Sql
from campaigns.audiences.reach import Reach, Zones
from campaigns.audiences.words import sentence
from campaigns.canary import choose_people, in_words
from campaigns.corrections import wrong_items
from campaigns.engagement.opening import OpenDelays, OpenRate, load_open_delays, load_open_rate
from campaigns.forecast import opens, rate_forecast
from campaigns.forecast.course import (
    MOST_STEPS,
    Course,
    Late,
    foresee,
    who_is_late,
)
from campaigns.forecast.opens import Opens
from campaigns.forecast.other_runs.concurrent_runs import SharedCapacity, named
from campaigns.forecast.other_runs.planned_runs import Planned
from campaigns.forecast.other_runs.shared_gate import RunRequest
from campaigns.forecast.skips import expected_devices, skipped, waterfall
from campaigns.forecast.skips.loss import Loss
from campaigns.forecast.skips.skipped import Cause, Skipped
from campaigns.forecast.skips.waterfall import Step
from campaigns.launch_check import (
    clocks,
    departures,
    group_sizes,
    image_load,
    quiet_hours_check,
    samples,
    text_check_result,
    too_late_or_rejected,
    warnings,
)
from campaigns.launch_check.text_check_result import TextsChecked
from campaigns.launch_check.warnings import Code, LaunchWarning
from campaigns.planning import campaign_variants, launch_problems, local
from campaigns.planning.campaign import Campaign
from campaigns.planning.campaign_variants import Wording
from campaigns.planning.repeats.moved_occurrences import Occurrence
from campaigns.planning.trial_rendering import Look
from campaigns.runs.chunk import IN_FLIGHT, SOON, WINDOW
from campaigns.runs.local_time import LocalTime
from campaigns.runs.reasons import Reason
from campaigns.runs.run import Run
from campaigns.runs.series import ONCE, instant_of
from campaigns.texts import preview
from notifications.pacing import load
from notifications.pacing.gate import Limit
from notifications.postgres.budget import TooSlow, clock, statement_timeout, until

REPORT_SECONDS = 5.0  # for all of its parts together
SOON_SECONDS = 0.5  # for how soon people open it; how many open it does not need it
ZONES_SECONDS = 0.5  # a sample of the people is enough for a share
COMING = 3

Part = TypeVar("Part")


def _in_time(ask: Callable[[LaunchReport], Part]) -> Callable[[LaunchReport], Part]:
    """Run a part that reads many people within the report's time budget."""

    @wraps(ask)
    def within_budget(report: LaunchReport) -> Part:
        with until(report.ends):
            return ask(report)

    return within_budget


@dataclass(frozen=True)
class LaunchReport:
    """The launch report of one campaign, at one moment."""

    campaign: Campaign
    now: datetime
    begun: Run | None = None  # set: the report is about this run, which has just begun

    def __post_init__(self) -> None:
        # Load its texts once, as they are now: each part needs them.
        prefetch_related_objects([self.campaign], "variants__template")

    @cached_property
    def ends(self) -> float:
        """When the time budget ends, on the budgets' clock. It begins with the first part."""
        return clock() + REPORT_SECONDS

    # --- May it be launched? ----------------------------------------------------------------------

    @cached_property
    def run(self) -> Run | None:
        """The run that the campaign already has."""
        return self.campaign.current_run()

    @cached_property
    def problems(self) -> dict[str, str]:
        """Why a launch would be refused, by field."""
        if self._unready:
            return self._unready
        return launch_problems.hopeless(
            self.campaign, self.look
        ) or launch_problems.hopeless_variants(self.campaign)

    # --- Who gets which text ----------------------------------------------------------------------

    @cached_property
    def shares(self) -> list[group_sizes.Share]:
        """The share of each group; empty if everybody gets the same text."""
        texts = {
            wording.number: str(wording.template)
            for wording in campaign_variants.wordings(self.campaign)
        }
        devices = self.reach.devices if self.reach else None
        return group_sizes.shares(
            campaign_variants.split_of(self.campaign, devices), texts, self.reach
        )

    @cached_property
    def enough(self) -> str:
        return group_sizes.enough(self.campaign, self.shares) if self.reach else ""

    @cached_property
    def wordings(self) -> list[tuple[str, preview.Card]]:
        """Each text as the same person would read it; empty if there is only one text."""
        texts = campaign_variants.wordings(self.campaign)
        if len(texts) < 2 or not self._readable or not self.samples:
            return []
        sample = self.samples[0]
        return [
            (
                wording.words,
                preview.card(wording.template.frozen(), sample.person, platform=sample.platform),
            )
            for wording in texts
        ]

    @cached_property
    def _unready(self) -> dict[str, str]:
        return launch_problems.unready(self.campaign, self.now)

    @property
    def obstacles(self) -> dict[str, str]:
        """The problems, or the fact that it was launched already."""
        return {"campaign": str(Campaign.AlreadyLaunched(self.run))} if self.run else self.problems

    @property
    def launchable(self) -> bool:
        return not self.obstacles

    @property
    def possible(self) -> bool:
        """Whether a page may launch it: a person must first see how many devices it reaches."""
        return self.launchable and self.reach is not None and not self.nobody

    @property
    def nobody(self) -> str:
        """Why it would be sent to nobody. Empty if it reaches a device, or may: an estimate forbids
        nothing."""
        if self.reach is None:
            return ""
        if not self.reach.devices:
            return _("Nobody can be reached: no device matches the audience.")
        if self.sent_to or not (self.reach.exact and self.skipped.exact):
            return ""
        return _("It would be sent to nobody: all of its devices would be skipped.")

    # --- Who --------------------------------------------------------------------------------------

    @cached_property
    @_in_time
    def audience_in_words(self) -> str:
        """The audience in words; empty if its rules are broken."""
        if "audience" in self._unready:
            return ""
        return sentence(self._rules, project_id=self.campaign.project_id)

    @property
    def reach(self) -> Reach | None:
        """How many people and devices it reaches. None if the rules are broken or counting takes
        too long."""
        return self._counted_reach[0]

    @property
    def uncounted(self) -> str:
        """Why they could not be counted, if that takes too long."""
        return self._counted_reach[1]

    @cached_property
    @_in_time
    def _counted_reach(self) -> tuple[Reach | None, str]:
        if "audience" in self._unready:
            return None, ""
        try:
            return reach.exact(self.campaign.project_id, self._rules), ""
        except reach.Uncountable as error:
            return None, f"{self.campaign.audience}: {' '.join(error.messages)}"

    @property
    def _rules(self) -> dict[str, Any]:
        return self.campaign.audience.effective_rules

    # --- Whom it would not reach ------------------------------------------------------------------

    @cached_property
    @_in_time
    def skipped(self) -> Skipped:
        """The skips that PostgreSQL can count for everybody: people who are out, or lack a value
        that the text needs."""
        if self.reach is None or not self._readable:
            return Skipped()
        return expected_devices.skips(self.campaign, self._rules, self.reach, self.causes)

    @property
    def causes(self) -> list[Cause]:
        """The causes of skips: what people said or lack, and those that hold with any text."""
        return expected_devices.causes(self.campaign, self.starts_at, self.local_time, self.begun)

    @property
    def sent_to(self) -> int | None:
        """How many devices a launch would send to; None if nobody could count them."""
        return expected_devices.devices(self.reach, self.skipped) if self.reach else None

    @cached_property
    @_in_time
    def wrong_items(self) -> int | None:
        """How many people have in their inbox the text that this corrects. None if it corrects
        none, or counting takes too long."""
        wrong = self.campaign.corrects
        if wrong is None or not wrong.inbox or "audience" in self._unready:
            return None
        return wrong_items.count_before_launch(wrong, self._rules)

    @property
    def outcome(self) -> str:
        """How many devices it reaches, skips and sends to, in one sentence."""
        return skipped.outcome(self.reach, self.skipped) if self.reach else ""

    @cached_property
    def others_lost(self) -> list[Loss]:
        """Other losses: messages with the longest values that cannot be sent, and people who come
        too late."""
        if self.reach is None or not self._readable:
            return []
        campaign, sent_to = self.campaign, self._sent_to(self.reach)
        late = too_late_or_rejected.too_late(campaign, self.reach, sent_to, self.pace, self.course)
        refused = too_late_or_rejected.refused(self.look, self.reach)
        if self.skipped.devices is not None:  # counted for everybody: a few examples add nothing
            refused = [loss for loss in refused if loss.reason != Reason.MISSING_VALUE]
        return [*refused, *late]

    @property
    def losses(self) -> list[Loss]:
        return [*self.skipped.losses, *self.others_lost]

    @cached_property
    @_in_time
    def look(self) -> Look:
        return launch_problems.look(self.campaign) if self._readable and self.reach else Look()

    @property
    def _readable(self) -> bool:
        return "template" not in self._unready

    # --- When, and how long -----------------------------------------------------------------------

    @cached_property
    def coming(self) -> list[Occurrence]:
        """The next occurrences of a series; the first stands where its run was moved to."""
        if self.campaign.schedule_kind != Campaign.Schedule.RECURRING:
            return []
        if self._next_run is None or self._next_run.occurrence == ONCE:
            return self.campaign.next_ones(self.now, COMING)
        own, begins = instant_of(self._next_run), self._next_run.scheduled_at
        first = Occurrence(own, own if self._next_run.hour else begins, begins)
        return [first, *self.campaign.next_ones(max(self.now, own), COMING - 1)]

    @cached_property
    def _next_run(self) -> Run | None:
        """The run of a launched campaign that will start next."""
        if self.begun:
            return self.begun
        scheduled = Run.objects.filter(campaign=self.campaign.pk, state=Run.State.SCHEDULED)
        return scheduled.order_by("scheduled_at").first()

    @property
    def starts_at(self) -> datetime:
        if self._next_run is not None:
            return max(self._next_run.scheduled_at, self.now)
        return self.campaign.starts_at(self.now)

    @cached_property
    def local_time(self) -> LocalTime | None:
        """The local time at which each person would get it; None: all at once."""
        if self._next_run is not None:
            return self._next_run.local_time
        return local.launched_at(self.campaign, self.campaign.goes_at(self.now), self.starts_at)

    @property
    def around(self) -> str:
        """When the first and the last person would get it by local time, in words."""
        return (
            self._clock_check.plan if isinstance(self._clock_check, clocks.LocalTimeSpread) else ""
        )

    @cached_property
    def pace(self) -> rate_forecast.RateForecast:
        devices = self.reach.devices if self.reach else None
        campaign = self.campaign
        return rate_forecast.forecast_rate(
            campaign.project,
            campaign.rate_per_second,
            devices,
            spread_seconds=campaign.spread_seconds,
            opens_per_second=campaign.opens_per_second,
            load=load.newest_report(campaign.project)
            if self.starts_at - self.now <= SOON
            else None,
        )

    @property
    def seconds(self) -> float | None:
        if self.reach is None:
            return None
        return self.pace.seconds(self._sent_to(self.reach)) + self.wait

    def _sent_to(self, audience: Reach) -> int:
        """How many devices take sending time: all, if nobody could count the skipped ones."""
        return audience.devices if self.sent_to is None else self.sent_to

    @cached_property
    def course(self) -> Course | None:
        return self.course_in(MOST_STEPS)

    def course_in(self, steps: int) -> Course | None:
        """Return how many messages leave when, beside what else is planned. None if nobody could
        count them."""
        if self._request_and_capacity is None or self._zones is None:
            return None
        request, shared = self._request_and_capacity
        all_counted = self._all_counted(sum(self._zones.clocks.values()))
        exact = self._zones.exact and self.skipped.exact and all_counted
        course = foresee(
            request.kinds, request.gets_it, request.rules, shared.capacity, exact=exact, steps=steps
        )
        return course if self._is_sure(course) else replace(course, exact=False)

    @cached_property
    def opens(self) -> Opens | None:
        """How many open it when; None if nobody knows how many people open a message."""
        return self.opens_of(self.course) if self.course else None

    def opens_of(self, course: Course) -> Opens | None:
        return opens.expected(course, *self._open_rate_and_delays)

    @cached_property
    @_in_time
    def _open_rate_and_delays(self) -> tuple[OpenRate, OpenDelays]:
        open_rate = load_open_rate(self.campaign.project_id, self.now)
        if open_rate.known:
            with suppress(TooSlow), statement_timeout(seconds=SOON_SECONDS):
                return open_rate, load_open_delays(open_rate)
        return open_rate, OpenDelays()

    def late(self, reason: str) -> Late:
        """Return the kinds of people who come too late, as far as that can be known."""
        if (
            self._request_and_capacity is None
            or self.course is None
            or reason not in self.course.skipped
        ):
            return Late([], [])
        request, shared = self._request_and_capacity
        return who_is_late(request.kinds, request.gets_it, request.rules, shared.capacity, reason)

    def _is_sure(self, course: Course) -> bool:
        """Whether the course is sure. How many messages leave may depend on the rate. Nobody knows
        the rate if it follows the servers' load, or if it is only measured in the last runs."""
        guessed = self.pace.measured and Reason.EXPIRED in course.skipped
        return self.pace.by != Limit.LOAD and not guessed

    @property
    def beside(self) -> list[Planned]:
        """The other planned runs of the Firebase project that are sent meanwhile."""
        return self._request_and_capacity[1].others if self._request_and_capacity else []

    @property
    def beside_named(self) -> list[str]:
        return named(self.beside, self.campaign.project_id)

    @cached_property
    @_in_time
    def _request_and_capacity(self) -> tuple[RunRequest, SharedCapacity] | None:
        if self.sent_to is None or self._zones is None or not (self.reach and self.reach.devices):
            return None
        rules = departures.rules_of(self.campaign, self.starts_at, self.local_time, self.first)
        return departures.request_and_capacity(
            self.campaign, rules, self._zones, self.sent_to, self.pace, self.now
        )

    def _all_counted(self, devices: int) -> bool:
        """Whether both counts agree: nobody came or went between them."""
        return self.reach is not None and self.reach.exact and self.reach.devices == devices

    @property
    def waterfall(self) -> list[Step]:
        """From the people of the audience to the messages that leave."""
        if self.reach is None or self.course is None or self.sent_to is None:
            return []
        return waterfall.steps(self.reach, self.skipped.losses, self.sent_to, self.course)

    @property
    def first(self) -> int:
        """How many devices go first; 0: all go at once."""
        limits = (self.campaign.first_percent, self.campaign.first_least)
        return choose_people.size_of(self.reach.devices, *limits) if self.reach else 0

    @property
    def wait(self) -> int:
        """How many seconds the rest waits for the first devices."""
        return self.campaign.first_wait_seconds if self.first else 0

    @property
    def first_said(self) -> str:
        return in_words.foretold(self.reach.devices if self.reach else None, self.campaign)

    @property
    def first_judged_by(self) -> str:
        return in_words.judged_by(self.campaign) if self.first else ""

    @property
    def finishes_at(self) -> datetime | None:
        if self.seconds is None:
            return None
        if self.course and self.course.ends_at:
            return self.course.ends_at
        return clocks.ends(self._clock_check, self.starts_at + timedelta(seconds=self.seconds))

    # --- What is odd ------------------------------------------------------------------------------

    @cached_property
    @_in_time
    def doubts(self) -> list[LaunchWarning]:
        doubts = []
        if self.uncounted:
            doubts.append(LaunchWarning(Code.UNCOUNTABLE, self.uncounted))
        if self.nobody:
            doubts.append(LaunchWarning(Code.NOBODY_REACHABLE, self.nobody))
        if self._readable:
            doubts += warnings.of_text(self.campaign)
            doubts += warnings.of_links(self.campaign)
        doubts += warnings.of_goal(self.campaign, self.now)
        doubts += warnings.of_variants(self.campaign)
        if "audience" not in self._unready:
            doubts += warnings.of_rules(self.campaign.project_id, self._rules)
        if self.reach is not None:
            doubts += warnings.of_unseen(self.campaign.project_id, self._rules, self.reach)
        if self.reach is not None and self._readable:
            devices = self.reach.devices
            doubts += image_load.too_much(self.campaign, devices, self.pace.seconds(devices))
        if self.at_night:
            code = Code.BY_THE_CLOCK if self.local_time else Code.AT_NIGHT
            doubts.append(LaunchWarning(code, self.at_night))
        if "audience" not in self._unready:
            doubts += warnings.of_edits(self.campaign, None if self.begun else self._next_run)
        doubts += warnings.of_had(self.campaign)
        return [*doubts, *warnings.of_sending(self.campaign, self.starts_at, self.now)]

    @property
    def at_night(self) -> str:
        return self._clock_check.words if self._clock_check else ""

    @cached_property
    @_in_time
    def _clock_check(
        self,
    ) -> (
        quiet_hours_check.NightShare
        | quiet_hours_check.QuietHoursWait
        | clocks.LocalTimeSpread
        | None
    ):
        if self.reach is None or self.nobody:
            return None
        if self._zones is None:
            return None
        return clocks.check_clocks(self.campaign, self.starts_at, self.local_time, self._zones)

    @cached_property
    @_in_time
    def _zones(self) -> Zones | None:
        """Its devices by time zone; None if nobody can count them in time."""
        if self.reach is None:
            return None
        limit = ZONES_SECONDS if self.reach.exact else 0.0
        with suppress(reach.Uncountable):
            return clocks.zones(self.campaign, self._rules, self.local_time, seconds=limit)
        return None

    @property
    def warnings(self) -> list[LaunchWarning | Loss]:
        """What a page shows at the top, except what it shows in red."""
        red = (Code.UNCOUNTABLE, Code.NOBODY_REACHABLE)
        return [*(doubt for doubt in self.doubts if doubt.code not in red), *self.others_lost]

    @property
    def in_doubt(self) -> int:
        """How many requests one process can have under way at the moment it dies."""
        return min(self.reach.devices if self.reach else 0, WINDOW * IN_FLIGHT)

    @property
    def processes(self) -> int:
        return int(settings.WORKERS)

    @property
    def holds(self) -> bool:
        return self.campaign.on_unknown == Run.OnUnknown.HOLD

    # --- What some of them would read -------------------------------------------------------------

    @cached_property
    @_in_time
    def samples(self) -> list[preview.Card]:
        """Cards of some people who want it; of other people only if there are none."""
        return self._cards(skipped.wants(self.campaign.asks)) or self._cards()

    @cached_property
    @_in_time
    def first_sample(self) -> preview.Card | None:
        """The card of a person who does receive it, if there is one: the newest people may all be
        skipped."""
        sample = next((card for card in self.samples if card.message), None)
        if sample is None and self.samples and self._readable:
            reached = self._cards(skipped.receives(self.campaign))
            sample = next((card for card in reached if card.message), None)
        return sample or next(iter(self.samples), None)

    def _cards(self, only: Sql | None = None) -> list[preview.Card]:
        if self.reach is None or not self._readable:
            return []
        return samples.cards(self.campaign, only)

    @cached_property
    def texts(self) -> list[tuple[Wording, TextsChecked | None]]:
        """Each text with its last text check, in which a worker read it for everybody. None: it was
        never checked."""
        devices = self.reach.devices if self.reach and self.reach.exact else None
        checked = text_check_result.check_texts(self.campaign, self.now, devices=devices)
        return [
            (wording, checked.get(wording.number))
            for wording in campaign_variants.wordings(self.campaign)
        ]

    @cached_property
    def longest(self) -> preview.Card | None:
        """The largest message among the people with the longest values."""
        return samples.longest(self.campaign, self.look.readers)
