"""Open tasks: what needs a person, each with its cause and the next step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from campaigns.engine import unknowns
from campaigns.runs.pages.live import OVERDUE, pause_in_words
from campaigns.runs.run import Run
from notifications.keys.credentials import lacking
from notifications.people.importing.model import Import
from notifications.people.project import Project
from notifications.values.moments import in_words, in_zone
from notifications.webhooks.endpoint import Endpoint

SHOWN = 8  # of each sort
A_DAY, A_WEEK = timedelta(days=1), timedelta(days=7)
A_WHILE = timedelta(minutes=5)  # how long an endpoint may fail
STATE = Run.State


@dataclass(frozen=True)
class OpenTask:
    """An open task. `url` leads to the page where it is decided."""

    title: str
    url: str
    cause: str
    next_step: str
    detail: str = ""


def find_open_tasks(project: Project | None, now: datetime) -> list[OpenTask]:
    if project is None:
        return []
    runs = Run.objects.filter(project=project).select_related("campaign", "project")
    return [
        *_find_key_problem(project),
        *_find_paused(runs),
        *_find_late(runs, now),
        *_find_unknown(runs, now),
        *_find_imports(project, now),
        *_find_endpoints(project, now),
    ]


def paused(project: Project | None) -> QuerySet[Run]:
    runs = Run.objects.filter(project=project, state=STATE.PAUSED, finished_at=None)
    return runs.order_by("-pk")


def _find_key_problem(project: Project) -> Iterator[OpenTask]:
    """A missing or unreadable key, with which runs pause at once. The emulator needs none."""
    if project.uses_emulator:
        return
    if cause := lacking(project):
        step = _("A person with the role operator sets it. Until then nothing is sent.")
    elif _account_is_sealed(project):
        cause = _("The project's key was encrypted with another CREDENTIALS_KEY.")
        step = _("Add that key to the settings, after a comma, or set the credentials again.")
    else:
        return
    url = reverse("admin:notifications_project_change", args=[project.pk])
    yield OpenTask(_("The key of %(project)s") % {"project": project}, url, cause, step)


def _account_is_sealed(project: Project) -> bool:
    account = getattr(project, "service_account", None)
    return account is not None and not account.opens()


def _find_paused(runs: QuerySet[Run]) -> Iterator[OpenTask]:
    stopped = runs.filter(state=STATE.PAUSED, finished_at=None)
    for run in stopped.order_by("-pk")[:SHOWN]:
        yield _task_of_run(run, **pause_in_words(run))


def _find_late(runs: QuerySet[Run], now: datetime) -> Iterator[OpenTask]:
    late = runs.filter(state=STATE.SCHEDULED, scheduled_at__lt=now - OVERDUE)
    for run in late.order_by("scheduled_at")[:SHOWN]:
        ago = in_words(now - run.scheduled_at)
        yield _task_of_run(
            run,
            cause=_("It was due %(ago)s ago and has not started.") % {"ago": ago},
            next_step=_("Check that the scheduler (“beat”) and a worker are running."),
        )


def _find_unknown(runs: QuerySet[Run], now: datetime) -> Iterator[OpenTask]:
    """Finished runs with unknown outcomes that still need a decision, for at most a week."""
    ended = runs.filter(finished_at__gt=now - A_WEEK, unknown__gt=0).order_by("-pk")
    for run in ended[:SHOWN]:
        if count := unknowns.undecided(run):
            cause = ngettext(
                "It ended with %(count)s unknown outcome.",
                "It ended with %(count)s unknown outcomes.",
                count,
            )
            yield _task_of_run(
                run,
                page="run_deliveries",
                query="?status=unknown",
                cause=cause % {"count": f"{count:,}"},
                next_step=_("See who they are, then send again or keep them as unknown."),
            )


def _task_of_run(
    run: Run, *, page: str = "campaigns_run_change", query: str = "", **words: Any
) -> OpenTask:
    return OpenTask(str(run), reverse(f"admin:{page}", args=[run.pk]) + query, **words)


def _find_imports(project: Project, now: datetime) -> Iterator[OpenTask]:
    """Imports that wait, for a week, and imports with refused rows, for a day."""
    lately = Import.objects.filter(project=project, created_at__gt=now - A_WEEK)
    waits = Q(state__in=[Import.State.CHECKED, Import.State.STOPPED, Import.State.FAILED])
    refused = Q(state=Import.State.FINISHED, refused__gt=0, finished_at__gt=now - A_DAY)
    for file_import in lately.filter(waits | refused).order_by("-pk")[:SHOWN]:
        cause, next_step = _explain_import(file_import)
        url = reverse("admin:notifications_import_change", args=[file_import.pk])
        yield OpenTask(_("Import of %(file)s") % {"file": file_import.name}, url, cause, next_step)


def _explain_import(file_import: Import) -> tuple[str, str]:
    match file_import.state:
        case Import.State.FAILED:
            return file_import.problem, _("Mend the file, and import it again.")
        case Import.State.STOPPED:
            return _("It was stopped before its end."), _("Go on with it, or delete it.")
        case Import.State.CHECKED:
            text = _("It is checked, and nothing of it was imported yet.")
            return text, _("Look at what it would do, and start it or delete it.")
    text = ngettext(
        "%(count)s row was refused.", "%(count)s rows were refused.", file_import.refused
    )
    step = _("Download the refused rows, correct them, and import that file.")
    return text % {"count": f"{file_import.refused:,}"}, step


def _find_endpoints(project: Project, now: datetime) -> Iterator[OpenTask]:
    """Endpoints that fail for a while, and for a week those that were disabled for it."""
    failing = Q(disabled_at=None, failing_since__lt=now - A_WHILE)
    stopped = Q(disabled_at__gt=now - A_WEEK) & ~Q(disabled_why=Endpoint.Why.BY_HAND)
    for endpoint in Endpoint.objects.filter(failing | stopped, project=project)[:SHOWN]:
        url = reverse("admin:notifications_endpoint_change", args=[endpoint.pk])
        when = in_zone(endpoint.failing_since, project.timezone)
        cause = _("It has taken nothing since %(when)s.") % {"when": when}
        yield OpenTask(
            _("Reports to “%(name)s”") % {"name": endpoint},
            url,
            str(endpoint.get_disabled_why_display()) if endpoint.disabled_at else cause,
            _("A person with the role operator reads in its log what it answers."),
        )
