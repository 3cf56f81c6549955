"""Health: asks a project's own server how busy it is, and stores how the last question went.

Processes that send also ask, one at a time. The one that claims the row asks. The others wait until
it has an answer or the claim expires, as it does when its process dies. `asked_at` is the fencing
token: the answer to an older question is not written.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connection, models, transaction
from django.db.models import F
from django.utils.translation import gettext as _

from notifications.pacing import load_level
from notifications.pacing.load_level import LEVEL, Read, Trouble
from notifications.people.project import LONGEST_NUMBER, Project
from notifications.values.registry import Registry
from notifications.webhooks.call import Call
from notifications.webhooks.transports import https_post, url_guard
from notifications.webhooks.transports.https_post import Answer, Bounds

EVERY = timedelta(seconds=2)
BOUNDS = Bounds(seconds=2.0, read=1_000_000, kept=1_000_000)
LOST = timedelta(seconds=3)  # then a claim expires; a question takes less

# Called with each level that a project's backend reports.
on_level_reported = Registry[Callable[[Project, float], object]]()

# Claims the row unless another process asks; the clock may have jumped back since. NOT EXISTS looks
# without a lock first: every process that sends looks four times a second.
CLAIM = """
INSERT INTO notifications_health AS h (project_id, asked_at, next_at, trouble)
SELECT id, statement_timestamp(), statement_timestamp() + %(lost)s, ''
FROM notifications_project p WHERE id = %(project)s AND load_url <> '' AND NOT EXISTS (
    SELECT FROM notifications_health WHERE project_id = p.id
        AND next_at > statement_timestamp() AND next_at <= statement_timestamp() + %(lost)s)
ON CONFLICT (project_id) DO UPDATE SET asked_at = excluded.asked_at, next_at = excluded.next_at
WHERE h.next_at <= excluded.asked_at OR h.next_at > excluded.next_at
RETURNING asked_at
"""


class Health(models.Model):
    """The last question to a project's health address, and why its answer had no level."""

    project = models.OneToOneField(Project, on_delete=models.CASCADE, primary_key=True)
    asked_at = models.DateTimeField()
    next_at = models.DateTimeField()  # the next question comes no earlier
    trouble = models.CharField(max_length=11, blank=True)  # empty: the answer had a level
    status = models.PositiveSmallIntegerField(null=True)

    def __str__(self) -> str:
        return f"health of {self.project_id}"


def validate(url: str, number: str) -> None:
    """Check the address and the name of the number. Raises ValidationError by field."""
    wrong = {}
    try:
        url_guard.validate(url)
    except ValidationError as error:
        wrong["load_url"] = error
    if len(number) > LONGEST_NUMBER or not number.isprintable():
        text = _("At most %(most)d characters, of those that can be seen.")
        wrong["load_number"] = ValidationError(text % {"most": LONGEST_NUMBER})
    if wrong:
        raise ValidationError(wrong)


def ask(url: str, number: str) -> tuple[Answer, Read]:
    """Ask the server, for at most two seconds. This does not use the database."""
    answer = https_post.fetch(url, BOUNDS)
    if answer.error or answer.status is None:
        return answer, Read(None, answer.error or Call.Error.BROKEN)
    return answer, load_level.parse(answer.status, answer.text, number)


def claim(project_id: int) -> datetime | None:
    """Claim the next question for LOST. None: it is too early, or another process asks."""
    params: dict[str, Any] = {"project": project_id, "lost": LOST}
    with connection.cursor() as cursor:
        cursor.execute(CLAIM, params)
        found = cursor.fetchone()
    return found[0] if found else None


def settle(project: Project, asked_at: datetime, answer: Answer, said: Read) -> None:
    """Write the answer and tell the listeners, who set the rate. If the address was changed
    meanwhile, do nothing. If the process dies here, another asks when our claim expires.
    """
    ours = Health.objects.filter(project=project, asked_at=asked_at)
    after = F("asked_at") + EVERY
    with transaction.atomic():
        written = ours.update(next_at=after, trouble=said.trouble, status=answer.status)
        if written and said.level is not None:
            tell(project, said.level)


def forget(project_id: int) -> None:
    """Forget the question to an earlier address. An answer that still comes is ignored."""
    Health.objects.filter(project=project_id).delete()


def tell(project: Project, level: float) -> None:
    for listener in on_level_reported:
        listener(project, level)


def trouble(project: Project) -> str:
    """Say why the last answer had no level. Empty: it had one, or the project has no address."""
    found = Health.objects.filter(project=project).first() if project.load_url else None
    return in_words(found.trouble, found.status, project.load_number) if found else ""


def in_words(trouble: str, status: int | None, number: str) -> str:
    if trouble in Trouble:
        return str(Trouble(trouble).label) % {"status": status, "name": number or LEVEL}
    return f"{Call.Error(trouble).label}." if trouble else ""
