"""Working: a worker settles what to read, reads it in parts, tries links, and writes the report.

One guarded UPDATE saves a part and its progress. If the process dies here: the worker with the next
lease reads the unfinished part again, and no part is counted twice.
"""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cached_property

from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.utils import translation
from django.utils.translation import gettext

from campaigns.audiences import last_seen
from campaigns.audiences.audience import hold_lists
from campaigns.audiences.resolving.settling import rules_for_sql
from campaigns.audiences.selection import drawn
from campaigns.runs.run import Run
from campaigns.text_check import counting, links, longest_values, report, same_text
from campaigns.text_check.counting import Plan
from campaigns.text_check.model import (
    LEASE,
    Fenced,
    TextCheck,
    claim,
    finish,
    give_up,
    keep,
    release,
)
from campaigns.text_check.tally import add_part
from campaigns.text_check.text_needs import Printer, Sheets
from notifications.postgres import clock
from notifications.postgres.budget import TooSlow, statement_timeout
from notifications.postgres.outage import DATABASE_TROUBLE

FIRST, LEAST, MOST = 20_000, 500, 200_000  # devices per part
PART_SECONDS = 2.0  # the goal: a cancel, or another run, waits no longer
MAX_SECONDS = LEASE.total_seconds() * 2 / 3  # at most per part; then fewer are tried
LINK_LEASE = timedelta(seconds=links.SECONDS)
MAX_LOCALES = 2_000  # languages counted one by one


def work(check_id: int, *, seconds: float) -> bool:
    """Read for this long. Return whether there is more to do for the next call."""
    check = claim(check_id, now=clock.now())
    if check is None:
        return False
    try:
        with translation.override(check.language), suppress(Fenced):
            _work_until(check, until=time.monotonic() + seconds)
    finally:
        with suppress(*DATABASE_TROUBLE):
            release(check)
    check.refresh_from_db(fields=["state"])
    return check.under_way


def _work_until(check: TextCheck, *, until: float) -> None:
    try:
        reading = Reading(check)
        while check.under_way:
            reading.step()
            if time.monotonic() >= until:
                return
    except ValidationError as error:
        give_up(check.pk, " ".join(error.messages), now=clock.now())
    except TooSlow:
        text = gettext("These rules take too long to evaluate. Use fewer rules, or shorter lists.")
        give_up(check.pk, text, now=clock.now())


class Reading:
    """Continues a check from where it stopped."""

    def __init__(self, check: TextCheck) -> None:
        self.check = check

    def step(self) -> None:
        """Do the next step: settle the plan, read one part, try one link, or report."""
        if self.check.plan is None:
            self._settle_plan()
        elif self.check.position < self.check.plan["end"]:
            self._read_part()
        elif untried := self._links[len(self.check.links) :]:
            self._try_link(untried[0])
        else:
            self._finish_check()

    # --- What is to be read -----------------------------------------------------------------------

    def _settle_plan(self) -> None:
        """Settle the plan once: rules, devices and languages, as a run does before it freezes."""
        check, now = self.check, clock.now()
        with transaction.atomic():
            self._refuse_lists_that_are_gone()
            with statement_timeout(seconds=MAX_SECONDS):
                rules = drawn(check.project_id, rules_for_sql(check.project_id, check.rules))
                begin, end = _devices_of(check.project_id)
                locales = _locales_of(check.project_id)
            since = last_seen.seen_since(check.project_id)
            newest = Run.every.order_by("-pk").values_list("pk", flat=True).first()
            plan = {
                "rules": rules,
                "seen_since": since.isoformat() if since else None,
                "begin": begin,
                "end": end,
                "locales": locales,
                "run": (newest or 0) + 1,
                "same": same_text.runs_alike(check, ["", *locales], now),
            }
            keep(check, now=now, plan=plan, position=begin)

    @cached_property
    def _plan(self) -> Plan:
        check, plan = self.check, self.check.plan or {}
        since = plan["seen_since"]
        return Plan(
            project_id=check.project_id,
            rules=plan["rules"],
            seen_since=datetime.fromisoformat(since) if since else None,
            asks=check.asks,
            same=[(run, locale) for run, locale in plan["same"]],
        )

    @cached_property
    def _sheets(self) -> Sheets:
        check, plan = self.check, self.check.plan or {}
        label = check.campaign.label
        printer = Printer(check.content, check.project, label=label, run=plan["run"])
        return Sheets(check.content, [locale for locale in plan["locales"] if locale], printer)

    # --- Reading ----------------------------------------------------------------------------------

    def _read_part(self) -> None:
        """Read one part, of about as many devices as two seconds allow."""
        check, began = self.check, time.monotonic()
        ids = range(check.position, self._end_of_part())
        try:
            with transaction.atomic(), statement_timeout(seconds=MAX_SECONDS):
                self._refuse_lists_that_are_gone()
                counted = counting.count(self._plan, self._sheets, ids)
        except TooSlow:
            self._try_fewer()
            return
        took = max(time.monotonic() - began, 0.01)
        target = round(self._devices_per_part * PART_SECONDS / took)
        fits = max(LEAST, min(target, 4 * self._devices_per_part, MOST))
        tally = {**add_part(check.tally, counted), "part": fits}
        keep(check, now=clock.now(), tally=tally, position=ids.stop)

    def _try_fewer(self) -> None:
        if self._devices_per_part == LEAST:
            raise TooSlow
        fewer = max(LEAST, self._devices_per_part // 8)
        keep(self.check, now=clock.now(), tally={**self.check.tally, "part": fewer})

    @property
    def _devices_per_part(self) -> int:
        """How many devices the next part has."""
        return int(self.check.tally.get("part", FIRST))

    def _refuse_lists_that_are_gone(self) -> None:
        """Refuse rules on a list that is gone: nobody is on it, so a part would count too few
        devices, or too many."""
        if hold_lists(self.check.project_id, self.check.rules):
            raise ValidationError(gettext("A list that its rules ask about is gone."))

    def _end_of_part(self) -> int:
        end: int = (self.check.plan or {})["end"]
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT id FROM notifications_device WHERE project_id = %s AND id >= %s AND id < %s"
                " ORDER BY id OFFSET %s LIMIT 1",
                [self.check.project_id, self.check.position, end, self._devices_per_part],
            )
            following = cursor.fetchone()
        return following[0] if following else end

    # --- Links, and the end -----------------------------------------------------------------------

    @cached_property
    def _links(self) -> list[str]:
        check = self.check
        return links.to_try(check.content, check.project) if check.tries_links else []

    def _try_link(self, url: str) -> None:
        """Try one link, outside of any transaction: another server answers when it likes."""
        keep(self.check, now=clock.now(), lease=LINK_LEASE)
        result = links.tried(url)
        keep(self.check, now=clock.now(), links=[*self.check.links, result])

    def _finish_check(self) -> None:
        check = self.check
        looked = longest_values.rendered(check.project_id, self._sheets, check.tally)
        finish(check, report.build_report(check, self._sheets, looked), now=clock.now())


def _devices_of(project_id: int) -> tuple[int, int]:
    """Return the range of the device ids that exist now. A device registered later is not read."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT COALESCE(min(id), 0), 1 + COALESCE(max(id), -1) FROM notifications_device"
            " WHERE project_id = %s",
            [project_id],
        )
        begin, end = cursor.fetchone()
    return begin, end


def _locales_of(project_id: int) -> list[str]:
    """Return the languages of the project's people, the most common first."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT locale FROM notifications_contact WHERE project_id = %s"
            " GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT %s",
            [project_id, MAX_LOCALES],
        )
        return [row[0] for row in cursor.fetchall()]
