"""Changing the people on a static list.

A page takes one id per line. If one id is unknown, nothing is changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connection, models, transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from campaigns.audiences.audience import Audience, Member
from notifications.people.contact import Contact
from notifications.people.locking import lock_people_against_erasure

MAX_LINES = 100_000
IDS_AT_ONCE = 5_000
LINES_NAMED = 20  # lines named in an error; it only counts the others


class Mode(models.TextChoices):
    ADD = "add", gettext_lazy("Add these people")
    REMOVE = "remove", gettext_lazy("Remove these people")
    REPLACE = "replace", gettext_lazy("The list is exactly these people")


@dataclass(frozen=True)
class Change:
    """How many people were added and removed."""

    added: int
    removed: int

    def __str__(self) -> str:
        added = ngettext("%(count)s person added.", "%(count)s people added.", self.added)
        removed = ngettext("%(count)s person removed.", "%(count)s people removed.", self.removed)
        counts = [(added, self.added), (removed, self.removed)]
        parts = [words % {"count": f"{count:,}"} for words, count in counts if count]
        return " ".join(parts) or _("the list stays as it was.")


def lines_of(text: str) -> dict[str, int]:
    """The ids in a text, each with its first line number; blank lines and repeats are ignored."""
    first_lines: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if external_id := line.strip().strip(",;").strip():
            first_lines.setdefault(external_id, number)
    if len(first_lines) > MAX_LINES:
        message = _("At most %(most)s people at once; there are %(count)s.")
        raise ValidationError(
            message % {"most": f"{MAX_LINES:,}", "count": f"{len(first_lines):,}"}
        )
    return first_lines


def look_up(project_id: int, lines: dict[str, int]) -> list[int]:
    """The primary keys of the people. Raises ValidationError naming the lines of unknown ids."""
    ids = list(lines)
    known: dict[str, int] = {}
    for start in range(0, len(ids), IDS_AT_ONCE):
        rows = Contact.objects.filter(
            project=project_id, external_id__in=ids[start : start + IDS_AT_ONCE]
        )
        known.update(rows.values_list("external_id", "pk"))
    unknown = [external_id for external_id in ids if external_id not in known]
    if unknown:
        text = _("Line %(line)s: no person “%(id)s” in this project.")
        messages = [text % {"line": lines[name], "id": name[:60]} for name in unknown[:LINES_NAMED]]
        if (more := len(unknown) - LINES_NAMED) > 0:
            rest = ngettext("… and %(more)s more line.", "… and %(more)s more lines.", more)
            messages.append(rest % {"more": f"{more:,}"})
        advice = _("Nothing was changed. Correct or remove these lines and save.")
        raise ValidationError([*messages, advice])
    return list(known.values())


def change(audience: Audience, mode: str, people: list[int]) -> Change:
    """Add, remove or replace the people on a list, completely or not at all.

    People erased since the look-up are left out.
    """
    on_it = Member.objects.filter(audience=audience)
    removed = 0
    with transaction.atomic():
        on_list = on_it.values_list("contact", flat=True) if mode == Mode.REPLACE else ()
        people = list(lock_people_against_erasure([*people, *on_list]).intersection(people))
        if mode == Mode.REMOVE:
            return Change(0, on_it.filter(contact__in=people).delete()[0])
        if mode == Mode.REPLACE:
            removed = on_it.exclude(contact__in=people).delete()[0]
        before = on_it.count()
        Member.objects.bulk_create(
            (Member(audience=audience, contact_id=pk) for pk in people),
            batch_size=IDS_AT_ONCE,
            ignore_conflicts=True,
        )
        return Change(on_it.count() - before, removed)


PUT_ON = """
INSERT INTO campaigns_member (audience_id, contact_id) SELECT %s, id FROM unnest(%s::bigint[]) id
ON CONFLICT DO NOTHING
"""


def put_on(audience: Audience, people: Iterable[int]) -> Change:
    """Add the people who still exist. The caller has a transaction, and has locked the list.

    It does not count the list, which may hold millions of people.
    """
    with connection.cursor() as cursor:
        cursor.execute(PUT_ON, [audience.pk, list(lock_people_against_erasure(people))])
        return Change(added=cursor.rowcount, removed=0)


def take_off(audience: Audience, people: Iterable[int]) -> Change:
    """Remove people from the list, under the same conditions as `put_on`."""
    on_it = Member.objects.filter(
        audience=audience, contact__in=lock_people_against_erasure(people)
    )
    return Change(added=0, removed=on_it.delete()[0])


def lists_of(contact: Contact) -> list[dict[str, Any]]:
    """The static lists a person is on."""
    on = Audience.objects.filter(members__contact=contact).order_by("pk")
    return [{"id": pk, "name": name} for pk, name in on.values_list("pk", "name")]
