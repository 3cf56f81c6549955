"""FCM's own figures on a project's page: how the last fetch went, and the figures it returned."""

from __future__ import annotations

from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from notifications.fcm_data import words
from notifications.fcm_data.day import Asking, FcmDay
from notifications.people.project import Project
from notifications.values.moments import in_zone

SHOWN = 30  # days and labels; what is older is on the runs' pages


def told(project: Project) -> SafeString:
    asking = Asking.objects.filter(project=project).first()
    rows = FcmDay.objects.filter(project=project, app_id=project.fcm_app_id)
    context = {
        "project": project,
        "trouble": words.fix(asking, firebase_project_id=project.firebase_project_id)
        if asking
        else "",
        "when": when(asking, project.timezone),
        "figures": rows.order_by("-day", "label")[:SHOWN] if project.fcm_app_id else [],
    }
    return render_to_string("admin/notifications/project/figures.html", context)


def when(asking: Asking | None, zone: str) -> str:
    if asking is None or asking.asked_at is None:
        return _("Not asked yet: within ten minutes.")
    asked_at, next_at = (in_zone(at, zone) for at in (asking.asked_at, asking.next_at))
    return _("Asked %(asked)s, and again %(again)s.") % {"asked": asked_at, "again": next_at}
