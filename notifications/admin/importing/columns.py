"""Import columns (step 2): the form that says what each column means, and its checks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from notifications import imports
from notifications.admin.importing import detected_format
from notifications.people.consent.category import Category
from notifications.people.importing.cells import NO, YES, is_grouped, number, time
from notifications.people.importing.columns import (
    Column,
    Meaning,
    Type,
    attribute_name,
    columns_of,
    remembered,
)
from notifications.people.importing.model import Import

SHOWN_ROWS = 3
COMMA_NUMBER = re.compile(r"-?(?:[0-9]{1,3}(?:\.[0-9]{3})+|[0-9]+),[0-9]+")
DOTTED_DAY = re.compile(r"[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}")
MODES = (
    (
        Import.Mode.ADD,
        gettext_lazy("People in the file are added or updated. Nobody else changes."),
    ),
    (
        Import.Mode.REPLACE,
        gettext_lazy(
            "People in the file are replaced: values it leaves out are cleared, and their "
            "other devices are retired. Nobody else changes."
        ),
    ),
    (
        Import.Mode.REMOVE,
        gettext_lazy("People in the file are removed from the project, with their devices."),
    ),
)
OF_THE_PERSON = (
    *(Meaning.EXTERNAL_ID, Meaning.LOCALE, Meaning.TIMEZONE),
    *(Meaning.SUBSCRIBED, Meaning.SUBSCRIBED_AT),
)
OF_THE_DEVICE = (
    *(Meaning.TOKEN, Meaning.FID, Meaning.PLATFORM),
    *(Meaning.APP_VERSION, Meaning.SEEN_AT),
)


@dataclass(frozen=True)
class Shown:
    """One column of the file, as a line of the form."""

    place: str
    head: str
    examples: list[str]
    meaning: str
    name: str
    kind: str
    error: str = ""
    doubt: str = ""


def form(one: Import) -> dict[str, Any]:
    """Template context of the step, from the stored import."""
    mapping = columns_of(one)
    return {
        **_form_context(one, mapping, {}),
        "mode": one.mode,
        "resubscribe": one.resubscribe,
        "remembered": remembered(one.project_id, one.sniffed["head"]) == mapping,
    }


def form_again(one: Import, posted: QueryDict, error: ValidationError) -> dict[str, Any]:
    """The form with the posted values, and the problem beside each column."""
    return _posted_form(one, posted, _posted_columns(one, posted), problems_of(error))


def in_another_encoding(one: Import, posted: QueryDict) -> dict[str, Any]:
    """The form, with the first rows in this encoding. A column that keeps its name keeps what was
    set for it. Raises InvalidMove."""
    one.insist_on(imports.READ)
    chosen_by_head = {column.head: column for column in _posted_columns(one, posted)}
    try:
        imports.set_encoding(one, posted.get("encoding", ""))
    except ValidationError as error:
        return form_again(one, posted, error)
    return _posted_form(
        one, posted, [chosen_by_head.get(column.head, column) for column in columns_of(one)], {}
    )


def _posted_form(
    file_import: Import, posted: QueryDict, mapping: list[Column], wrong: dict[str, list[str]]
) -> dict[str, Any]:
    return {
        **_form_context(file_import, mapping, wrong),
        "mode": posted.get("mode", file_import.mode),
        "resubscribe": "resubscribe" in posted,
    }


def keep(one: Import, posted: QueryDict) -> None:
    """Save what each column means.

    Raises ValidationError by the header of a column; "" and "mode" are about the whole form.
    Raises InvalidMove while the columns are not known."""
    one.insist_on(imports.READ)
    imports.set_mapping(
        one,
        _posted_columns(one, posted),
        mode=posted.get("mode", ""),
        resubscribe="resubscribe" in posted,
    )


def _form_context(
    file_import: Import, mapping: list[Column], wrong: dict[str, list[str]]
) -> dict[str, Any]:
    rows = file_import.sniffed["rows"]
    return {
        "columns": [
            _draw_column(place, column, rows, wrong) for place, column in enumerate(mapping)
        ],
        "detected": detected_format.in_words(file_import),
        "encodings": detected_format.encodings(file_import),
        "encoding": file_import.sniffed.get("encoding", ""),
        "meanings": meanings(file_import.project_id),
        "answers": answers(file_import.project_id),
        "kinds": Type.choices,
        "modes": [(mode.value, mode.label, means) for mode, means in MODES],
        "problems": [
            problem for name in ("", "mode", "encoding") for problem in wrong.get(name, ())
        ],
        "wrong": bool(wrong),
    }


def _draw_column(
    place: int, column: Column, rows: list[list[str]], wrong: dict[str, list[str]]
) -> Shown:
    named = column.meaning == Meaning.CATEGORY
    return Shown(
        place=str(place),
        head=column.head,
        examples=[row[place] if place < len(row) else "" for row in rows[:SHOWN_ROWS]],
        meaning=f"{column.meaning}:{column.name}" if named else column.meaning,
        name=column.name if column.meaning == Meaning.ATTRIBUTE else attribute_name(column.head),
        kind=column.type,
        error=" ".join(wrong.get(column.head, ())),
        doubt=_doubt(column, [row[place] for row in rows if place < len(row)]),
    )


def _doubt(column: Column, cells: list[str]) -> str:
    """A warning for texts that may be meant as numbers or dates, for a comma in a number, and for a
    cell that will be refused."""
    filled = [cell.strip() for cell in cells if cell.strip()]
    if column.meaning == Meaning.ATTRIBUTE and (wrong := _unreadable(column.type, filled)):
        text = _(
            "%(wrong)s Its row will be refused. If such cells are right, read the column as Text."
        )
        return text % {"wrong": wrong}
    grouped = next(filter(is_grouped, filled), None)
    if (column.meaning, column.type) == (Meaning.ATTRIBUTE, Type.NUMBER) and grouped:
        text = _("“%(cell)s” is read as %(number)s.")
        return text % {"cell": grouped, "number": number(grouped)}
    if (column.meaning, column.type) != (Meaning.ATTRIBUTE, Type.TEXT) or not filled:
        return ""
    if all(map(COMMA_NUMBER.fullmatch, filled)):
        return _("Looks like numbers written 1.234,00: it is kept as text.")
    if all(map(DOTTED_DAY.fullmatch, filled)):
        return _("Looks like days written 01.03.2026: it is kept as text.")
    return ""


def _unreadable(kind: str, cells: list[str]) -> str:
    """Why the first cell that is not a number, or not a time, cannot be read; empty if all can."""
    readers: dict[str, Any] = {Type.NUMBER: number, Type.TIME: time}
    read: Any = readers.get(kind)
    for cell in cells if read else ():
        try:
            read(cell)
        except ValidationError as error:
            return str(error.messages[0])
    return ""


def meanings(project_id: int) -> list[tuple[str, list[tuple[str, Any]]]]:
    """The choices of a column, in groups."""
    wants = _("Wants “%(category)s”: yes or no")
    categories = Category.objects.filter(project=project_id)
    by_category: list[tuple[str, Any]] = [
        (f"{Meaning.CATEGORY}:{category.slug}", wants % {"category": category})
        for category in categories
    ]
    person = [(meaning.value, meaning.label) for meaning in OF_THE_PERSON]
    device = [(meaning.value, meaning.label) for meaning in OF_THE_DEVICE]
    anything_else = [
        (meaning.value, meaning.label) for meaning in (Meaning.ATTRIBUTE, Meaning.IGNORE)
    ]
    groups = [
        (_("Person"), person),
        (_("Categories"), by_category),
        (_("Device"), device),
        (_("Anything else"), anything_else),
    ]
    return [(group, choices) for group, choices in groups if choices]


def answers(project_id: int) -> dict[str, Any]:
    """What a column of answers may hold, and whether there are categories to answer for."""
    return {
        "yes": ", ".join(sorted(YES)),
        "no": ", ".join(sorted(NO)),
        "categories": Category.objects.filter(project=project_id).exists(),
    }


def _posted_columns(file_import: Import, posted: QueryDict) -> list[Column]:
    """What the form sent for each column of the file, in order."""
    return [
        _column(head, posted.get(f"meaning-{place}", ""), posted, place)
        for place, head in enumerate(file_import.sniffed["head"])
    ]


def _column(head: str, chosen: str, posted: QueryDict, place: int) -> Column:
    meaning, _colon, category = chosen.partition(":")
    if meaning != Meaning.ATTRIBUTE:
        return Column(head, meaning, category)
    name = posted.get(f"name-{place}", "").strip()
    return Column(head, meaning, name, posted.get(f"kind-{place}", Type.TEXT))


def problems_of(error: ValidationError) -> dict[str, list[str]]:
    """Problems by field; those without a field are shown above the form."""
    return error.message_dict if hasattr(error, "error_dict") else {"": error.messages}
