"""Left out: some of the people who would get nothing for a given reason, the newest first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from campaigns.audiences.behavior.kind import Sql
from campaigns.audiences.reach import Alike
from campaigns.audiences.selection import sample
from campaigns.forecast.skips import control_group
from campaigns.forecast.skips.skipped import Cause
from campaigns.forecast.skips.waterfall import TOO_LATE, too_late_because
from campaigns.launch_check import too_late_people
from campaigns.launch_check.launch_report import LaunchReport
from campaigns.planning.campaign import Campaign
from campaigns.runs.reasons import Reason
from campaigns.runs.variants import split
from notifications.people.consent import eligibility
from notifications.people.contact import Contact
from notifications.postgres.budget import statement_timeout

SECONDS = 2.0
SHOWN = 100
# A person who lacks a value is left out only if the text in their language needs it. So more people
# are looked at than shown.
LOOKED_AT = 5 * SHOWN


@dataclass(frozen=True)
class LeftOut:
    why: str
    people: list[Contact]
    older: int | None = None  # the id of the person who begins the next page; None: no more
    maybe: bool = False  # some of them get it, depending on their turn
    drawn: bool = False  # nobody can be named: chance decides when the run starts


@dataclass(frozen=True)
class _Search:
    """Which people to look for, and which of the people found are left out."""

    why: str
    holds: Sql  # of `c`, `d` and `out`
    is_lost: Callable[[Contact], bool] = lambda _person: True
    maybe: bool = False


def find_left_out(
    report: LaunchReport, reason: str, variable: str = "", *, start: int | None = None
) -> LeftOut | None:
    """Find people left out for this reason, from the person `start` on. None if the reason leaves
    out nobody. Raises TooSlow."""
    if reason in (Reason.CONTROL, Reason.HOLDOUT):
        search = _on_purpose(report, reason)
    elif reason in TOO_LATE:
        search = _by_the_clock(report, reason)
    else:
        search = _for_a_cause(report, reason, variable)
    return _find_people(report.campaign, search, start) if isinstance(search, _Search) else search


def _for_a_cause(report: LaunchReport, reason: str, variable: str) -> _Search | None:
    named = (
        cause for cause in report.causes if (cause.reason, cause.variable) == (reason, variable)
    )
    cause = next(named, None)
    if cause is None:
        return None
    return _Search(cause.short, cause.holds, lambda person: _is_lost(cause, person))


def _by_the_clock(report: LaunchReport, reason: str) -> _Search | None:
    """Look for people who come too late, without those left out for another reason anyway."""
    late = report.late(reason)
    if not (late.everybody or late.some):
        return None
    conditions = [too_late_people.people(late, report.local_time)]
    conditions += [_negate(cause.holds) for cause in report.causes if not cause.variable]
    holds = Sql(
        " AND ".join(condition.sql for condition in conditions),
        [p for condition in conditions for p in condition.params],
    )
    return _Search(too_late_because(reason), holds, maybe=bool(late.some))


def _negate(holds: Sql) -> Sql:
    return Sql(f"NOT ({holds.sql})", holds.params)


def _on_purpose(report: LaunchReport, reason: str) -> _Search | LeftOut | None:
    lost = control_group.losses(report.campaign, report.reach) if report.reach else []
    loss = next((loss for loss in lost if loss.reason == reason), None)
    if loss is None:
        return None
    if reason == Reason.CONTROL:  # each run draws its own
        return LeftOut(loss.short, [], drawn=True)
    return _Search(loss.short, Sql(split.held_out_of(report.campaign.project_id, "c.id"), []))


def _find_people(campaign: Campaign, search: _Search, start: int | None) -> LeftOut:
    with statement_timeout(seconds=SECONDS):
        people = sample(
            campaign.project_id,
            campaign.audience.effective_rules,
            size=LOOKED_AT,
            start=start,
            only=_with_standing(search.holds, campaign),
        )
    lost = [person for person in people if search.is_lost(person)]
    last = (
        lost[SHOWN - 1] if len(lost) > SHOWN else people[-1] if len(people) == LOOKED_AT else None
    )
    older = last.pk - 1 if last else None
    return LeftOut(search.why, lost[:SHOWN], older, maybe=search.maybe)


def _with_standing(holds: Sql, campaign: Campaign) -> Sql:
    """Make the condition need only `c` and `d`: it looks up itself why people are out."""
    asks: dict[str, Any] = campaign.asks
    reason = eligibility.skip_reason_sql("%s", "%s")
    out = f"SELECT {reason} AS out FROM (SELECT 1) one {eligibility.JOIN}"
    return Sql(
        f"(d.id IS NOT NULL AND (SELECT {holds.sql} FROM ({out}) standing))",
        [*holds.params, asks["marketing"], asks["category"]],
    )


def _is_lost(cause: Cause, person: Contact) -> bool:
    platforms = {device.platform for device in person.devices.all()}
    alike = (Alike(person.locale, platform, [], 1, person.external_id) for platform in platforms)
    return any(cause.applies(group) for group in alike)
