"""Analytics labels: the names under which Firebase's reports count campaigns.

Firebase reports 100 distinct labels per project and day, and is silent about the rest. So a label
belongs to a campaign, never to a recipient, and the day's labels are counted before a launch.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime, timedelta

from django.utils.translation import gettext

from campaigns.runs.run import Run
from notifications.fcm.rules import LONGEST_LABEL

REPORTED_A_DAY = 100
WARNED_FROM = 90


def made_from(name: str, number: int) -> str:
    """Return “Été à Séoul” as ete-a-seoul-12; a name in another script becomes campaign-12."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    room = LONGEST_LABEL - len(f"-{number}")
    return f"{slug[:room].rstrip('-') or 'campaign'}-{number}"


def is_made(label: str, number: int) -> bool:
    """Whether the label may have been made from a name of the campaign with this number."""
    return label.endswith(f"-{number}")


def warning(project_id: int, label: str, *, at: datetime) -> str:
    """Warn if this label brings the day near or over Firebase's limit; empty if there is room."""
    # Google does not say when its day begins: any 24 hours may be one.
    day = Run.objects.filter(
        project=project_id, scheduled_at__gt=at - timedelta(days=1), scheduled_at__lte=at
    )
    used = set(day.exclude(analytics_label="").values_list("analytics_label", flat=True).distinct())
    used.add(label)
    if len(used) < WARNED_FROM:
        return ""
    if len(used) <= REPORTED_A_DAY:
        text = gettext(
            "%(used)s of the %(most)s analytics labels that Firebase reports a day are in use, "
            "this one included. Give campaigns that belong together one label."
        )
    else:
        text = gettext(
            "This is analytics label %(used)s within a day, and Firebase reports %(most)s. It may "
            "be missing there; our own counts are not affected. Use the label of an earlier "
            "campaign to be sure."
        )
    return text % {"used": len(used), "most": REPORTED_A_DAY}
