"""Fetching: gets each project's delivery figures from FCM once a day, and stores them.

Errors are stored with their cause, for the project's page. They do not affect any run.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from notifications import dispatch
from notifications.fcm_data.data_api import Found, Unavailable, list_figures
from notifications.fcm_data.day import KEPT, Asking, FcmDay, Trouble
from notifications.gateway import BadCredentials
from notifications.keys.minting import CLOUD_PLATFORM, TokenUnavailable
from notifications.people.project import Project

EVERY, SOONER = timedelta(days=1), timedelta(hours=1)
PASSING = (Trouble.BUSY, Trouble.UNREACHABLE)


def due(now: datetime) -> list[int]:
    """Return ids of projects that name their app and whose next request is due."""
    ready = Q(asking=None) | Q(asking__next_at__lte=now)
    rows = Project.objects.filter(ready).exclude(fcm_app_id="")
    return list(rows.order_by("pk").values_list("pk", flat=True))


def fetch(project_id: int, *, now: datetime) -> None:
    """Fetch a project's figures if they are due. If the process dies here: the next request follows
    in an hour."""
    Asking.objects.get_or_create(project_id=project_id, defaults={"next_at": now})
    mine = Asking.objects.filter(project_id=project_id, next_at__lte=now)
    if mine.update(next_at=now + SOONER):  # of two tasks at once, only one asks
        fetch_now(Project.objects.get(pk=project_id), now=now)


def fetch_now(project: Project, *, now: datetime) -> Asking:
    """Fetch a project's figures now. The project's page calls it, too."""
    try:
        figures = list_figures(project, _token(project))
    except Unavailable as error:
        again = SOONER if error.trouble in PASSING else EVERY
        return _note(
            project, next_at=now + again, asked_at=now, trouble=error.trouble, said=error.said
        )
    with transaction.atomic():
        _keep(project, figures, now)
        return _note(project, next_at=now + EVERY, asked_at=now, told_at=now, trouble="", said="")


def _token(project: Project) -> str:
    """Mint a token for this request only: it has more rights than the one that sends, so it is not
    shared."""
    try:
        return dispatch.minter_of(project, scope=CLOUD_PLATFORM).mint().token
    except BadCredentials as error:
        raise Unavailable(Trouble.KEY, str(error)) from error
    except TokenUnavailable as error:
        raise Unavailable(Trouble.UNREACHABLE, str(error)) from error


def _keep(project: Project, figures: list[Found], now: datetime) -> None:
    """Store the figures. New figures replace older ones, since FCM counts on for days."""
    rows = {(figure.day, figure.label): figure for figure in figures}
    FcmDay.objects.bulk_create(
        [
            FcmDay(
                project=project, app_id=project.fcm_app_id, day=figure.day, label=figure.label,
                accepted=figure.accepted, percents=figure.percents,
            )
            for figure in rows.values()
        ],
        update_conflicts=True,
        unique_fields=["project", "app_id", "day", "label"],
        update_fields=["accepted", "percents"],
    )  # fmt: skip
    FcmDay.objects.filter(project=project, day__lt=(now - KEPT).date()).delete()


def _note(project: Project, **values: object) -> Asking:
    asking, _ = Asking.objects.update_or_create(project=project, defaults=values)
    return asking
