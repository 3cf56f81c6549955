"""The groups of a run's people that can become a static list: each has a code, a label and rules.

The page and the API use the same codes: an outcome, and what narrows it after a colon.
"""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from campaigns.audiences.behavior import reported
from campaigns.audiences.lists import outcomes
from campaigns.engagement.receipt import BY_NAME, EchoSum
from campaigns.runs import reasons
from campaigns.runs.reasons import Reason
from campaigns.runs.run import Run

NOT_REACHED = "not_reached"
NOT_OPENED = reported.NOT_OPENED
NOT_OPENED_FOR_SURE = f"{reported.NOT_OPENED}:{reported.CAN_TELL}"


def is_known(run: Run) -> bool:
    """Whether the outcome of each recipient is known."""
    return run.finished_at is not None and bool(run.planned) and run.forgotten_at is None


def choices(run: Run) -> dict[str, str]:
    """The choices of this run, code and label. New ones, such as who reached a goal, go here."""
    return {**_sent_to(run), **_report_choices(run), **_by_reason(run)}


def rule(run: Run, chosen: str) -> dict[str, Any]:
    """The rules that find the people of a choice."""
    outcome, *more = chosen.split(":", 2)
    if more == [reported.CAN_TELL]:
        return outcomes.of_run(run, outcome, **{reported.CAN_TELL: True})
    return outcomes.of_run(run, outcome, **dict(zip(("reason", "variable"), more, strict=False)))


def has_told(run: Run) -> bool:
    """Whether any phone reported anything of the run. If not, “not opened” means nothing."""
    return bool(_reported_events(run))


def _sent_to(run: Run) -> dict[str, str]:
    always = {"planned": _("All its recipients"), "accepted": _("Accepted")}
    missed = {NOT_REACHED: _("Not reached: accepted on no device")}
    return {**always, **(missed if run.accepted < (run.planned or 0) else {})}


def _report_choices(run: Run) -> dict[str, str]:
    """The choices by what phones reported."""
    labels = {
        "received": _("Received, as their phone reported"),
        "displayed": _("Displayed, as their phone reported"),
        "opened": _("Opened"),
        "dismissed": _("Dismissed"),
        "action_1": _("Pressed button 1"),
        "action_2": _("Pressed button 2"),
        "action_3": _("Pressed button 3"),
    }
    events = _reported_events(run)
    labels_by_name = {
        name: label for name, label in labels.items() if events & {*reported.BY[name]}
    }
    if events:
        labels_by_name[NOT_OPENED] = _("Accepted and not opened, as far as anybody knows")
        labels_by_name[NOT_OPENED_FOR_SURE] = _(
            "Accepted and not opened, of those whose phone can tell"
        )
    return labels_by_name


def _reported_events(run: Run) -> set[int]:
    sums = EchoSum.objects.filter(run_id=run.pk, by=EchoSum.By.ALL, count__gt=0)
    return {*sums.values_list("event", flat=True)} & {*BY_NAME.values()}


def _by_reason(run: Run) -> dict[str, str]:
    labels = {"rejected": _("Rejected"), "skipped": _("Skipped"), "unknown": _("Unknown")}
    counted = {status: getattr(run, status) for status in labels}
    whole = {status: labels[status] for status, count in counted.items() if count}
    reason_labels = {
        f"{status}:{reason}": f"{labels[status]}: {reasons.in_words(reason)}"
        for status, reason in outcomes.reasons_of(run)
    }
    lacking = {
        f"skipped:{Reason.MISSING_VALUE}:{name}": _("Skipped for lack of “{name}”").format(
            name=name
        )
        for name in outcomes.variables_missing(run)
    }
    return {**whole, **reason_labels, **lacking}
