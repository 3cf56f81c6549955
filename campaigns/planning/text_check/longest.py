"""Longest: renders the text, as a launch would, for the few people with the longest values."""

from __future__ import annotations

from typing import Any

from campaigns.planning.text_check import tally as tallies
from campaigns.planning.text_check.sheets import MEASURES, Sheet, Sheets, measured
from campaigns.planning.text_check.tally import Tally
from campaigns.texts.rendering import Unrenderable
from notifications.people.contact import Contact

REFUSED = 20  # kept at most: one for each reason, language and platform


def rendered(project_id: int, sheets: Sheets, tally: Tally) -> dict[str, Any]:
    """Return the longest title, body and message by language and platform, each with its person,
    and the people whose message cannot be sent."""
    wanted = list(tallies.longest(tally))
    mine = Contact.objects.filter(project=project_id)
    people = mine.in_bulk({person for _, person in wanted})
    found: dict[str, Any] = {}
    refused: dict[tuple[str, str, str], dict[str, Any]] = {}
    for number, pk in wanted:
        if pk in people:
            _try(people[pk], sheets.all[number], sheets, found, refused)
    return {"longest": found, "refused": list(refused.values())[:REFUSED]}


def _try(
    person: Contact,
    sheet: Sheet,
    sheets: Sheets,
    found: dict[str, Any],
    refused: dict[tuple[str, str, str], dict[str, Any]],
) -> None:
    try:
        message = sheets.printer.message(person, sheet.platform)
    except Unrenderable as error:
        one = {"reason": str(error.reason), "text": sheet.text, "platform": sheet.platform}
        key = (one["reason"], sheet.text, sheet.platform)
        refused.setdefault(key, {**one, "person": person.pk, "rejected": error.rejected})
        return
    held = found.setdefault(f"{sheet.text}|{sheet.platform}", {})
    for name, size in zip(MEASURES, measured(message), strict=True):
        if size > held.get(name, [-1])[0]:
            held[name] = [size, person.pk]
