"""Longest: renders the text, as a launch would, for the few people with the longest values."""

from __future__ import annotations

from typing import Any

from campaigns.text_check import tally as tallies
from campaigns.text_check.tally import Tally
from campaigns.text_check.text_needs import MEASURES, Sheet, Sheets, measured
from campaigns.texts.rendering import Unrenderable
from notifications.people.contact import Contact

REFUSED = 20  # kept at most: one for each reason, language and platform


def rendered(project_id: int, sheets: Sheets, tally: Tally) -> dict[str, Any]:
    """Return the longest title, body and message by language and platform, each with its person,
    and the people whose message cannot be sent."""
    candidates = list(tallies.longest(tally))
    mine = Contact.objects.filter(project=project_id)
    people = mine.in_bulk({person for _, person in candidates})
    longest_values: dict[str, Any] = {}
    refused: dict[tuple[str, str, str], dict[str, Any]] = {}
    for number, pk in candidates:
        if pk in people:
            _measure_message(people[pk], sheets.all[number], sheets, longest_values, refused)
    return {"longest": longest_values, "refused": list(refused.values())[:REFUSED]}


def _measure_message(
    person: Contact,
    sheet: Sheet,
    sheets: Sheets,
    longest_values: dict[str, Any],
    refused: dict[tuple[str, str, str], dict[str, Any]],
) -> None:
    try:
        message = sheets.printer.message(person, sheet.platform)
    except Unrenderable as error:
        refusal = {"reason": str(error.reason), "text": sheet.text, "platform": sheet.platform}
        key = (refusal["reason"], sheet.text, sheet.platform)
        refused.setdefault(key, {**refusal, "person": person.pk, "rejected": error.rejected})
        return
    longest_sizes = longest_values.setdefault(f"{sheet.text}|{sheet.platform}", {})
    for name, size in zip(MEASURES, measured(message), strict=True):
        if size > longest_sizes.get(name, [-1])[0]:
            longest_sizes[name] = [size, person.pk]
