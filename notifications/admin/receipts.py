"""Receipts and FCM's own figures, as parts of a project's page."""

from __future__ import annotations

import re
from functools import cache

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from notifications.fcm_data import words
from notifications.fcm_data.day import Asking, FcmDay
from notifications.people.project import Project
from notifications.values.moments import in_zone

SHOWN = 30  # days and labels; what is older is on the runs' pages


def receipts_html(project: Project) -> SafeString:
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


PLACE = "/api/v1/receipts"
EXAMPLE = "https://push.example.com"
gettext_noop("Web: the service worker")  # a title in that file that needs a translation
SNIPPET = re.compile(r"^## (?P<title>.+?)\n.*?```(?P<language>\w+)\n(?P<code>.*?)```", re.M | re.S)


def told_where() -> SafeString:
    address = settings.PHONES_URL
    context = {
        "address": f"{address}{PLACE}" if address else "",
        "snippets": [
            (_(title), language, code.replace(EXAMPLE, address or EXAMPLE))
            for title, language, code in _snippets()
        ],
    }
    return render_to_string("admin/notifications/project/receipts.html", context)


@cache
def _snippets() -> list[tuple[str, str, str]]:
    text = (settings.BASE_DIR / "docs" / "receipts.md").read_text()
    return [(match["title"], match["language"], match["code"]) for match in SNIPPET.finditer(text)]
