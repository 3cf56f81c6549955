"""What a translated file would change in a template, and which of its texts are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from liquid.exceptions import LiquidError

from campaigns.texts import liquid, preview
from campaigns.texts.comparison import Change, changes
from campaigns.texts.template import Template
from campaigns.texts.translating import as_csv, as_xliff
from campaigns.texts.translating.units import (
    MOST_BYTES,
    Cell,
    Unit,
    Unreadable,
    carried,
    put,
    text_at,
    units,
)
from notifications.values.languages import canonical, validate_locale
from notifications.values.text import unstorable

READERS: dict[str, Callable[[str], list[Cell]]] = {"csv": as_csv.parse, "xliff": as_xliff.parse}
FORMATS = [*READERS]


@dataclass(frozen=True)
class Refused:
    """One text of the file that is not taken, and what to do about it."""

    row: int
    id: str
    tag: str
    words: str


@dataclass
class Proposal:
    """The languages after the upload, what that changes, and which texts are refused."""

    locales: dict[str, Any]
    changes: list[Change] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)


def parse_file(kind: str, file: bytes | str) -> list[Cell]:
    """Read a translated file. Its size is checked before its contents. Raises Unreadable."""
    if len(file) > MOST_BYTES:
        message = _("The file is too large: at most %(most)s bytes are read.")
        raise Unreadable(message % {"most": f"{MOST_BYTES:,}"})
    try:
        text = file if isinstance(file, str) else file.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(_("The file is not UTF-8. Save it again, as UTF-8.")) from error
    if problem := unstorable(text):
        raise Unreadable(f"{problem}.")
    return READERS[kind](text.removeprefix("\ufeff"))


def propose(template: Template, cells: Iterable[Cell]) -> Proposal:
    """Find what a file would change. Languages and texts that are not in the file stay."""
    known = {unit.id: unit for unit in units(template.written())}
    locales: dict[str, Any] = dict(template.locales)
    own = {canonical(tag): tag for tag in locales}
    seen: set[tuple[str, str]] = set()
    proposal = Proposal(locales)
    for cell in cells:
        tag = own.get(canonical(cell.tag), canonical(cell.tag))
        texts = locales.get(tag, {})
        if _same(cell.text, text_at(texts, cell.unit)):
            continue
        if words := next(_problems(cell, known.get(cell.unit), twice=(tag, cell.unit) in seen), ""):
            proposal.refused.append(Refused(cell.row, cell.unit, cell.tag, words))
            continue
        seen.add((tag, cell.unit))
        locales[tag] = put(texts, cell.unit, carried(cell.text))
    proposal.changes = changes({"locales": template.locales}, {"locales": locales})
    return proposal


def _same(first: str, second: str) -> bool:
    return carried(first) == carried(second)


def _problems(cell: Cell, unit: Unit | None, *, twice: bool) -> Iterator[str]:
    """Why a cell is refused. Only the first problem is shown."""
    try:
        validate_locale(cell.tag)
    except ValidationError as error:
        yield error.messages[0]
    if unit is None:
        yield _("There is no text “%(id)s” in this template. Leave the ids as they are.") % {
            "id": cell.unit
        }
        return
    if twice:
        yield _("This text stands twice in the file. Keep one of the two.")
    if cell.source and not _same(cell.source, unit.source):
        yield _("The main text has changed since the file was made. Make the file anew.")
    yield from (problem.with_position for problem in liquid.problems(cell.text))
    yield from _variables_lost(unit.source, cell.text)


def _variables_lost(source: str, text: str) -> Iterator[str]:
    """The problems of variables: a translation must use those of the main text, and no others."""
    try:
        expected, used = liquid.paths(source), liquid.paths(text)
    except LiquidError:
        return
    if missing := expected - used:
        words = _("Missing: %(names)s. Put it where it belongs in the sentence.")
        yield words % {"names": _names(missing)}
    if unknown := used - expected:
        words = _("The main text does not say %(names)s. Write the names as they are there.")
        yield words % {"names": _names(unknown)}
    if bare := preview.needed_by_text(text) - preview.needed_by_text(source):
        words = _(
            "Without its fallback: %(names)s. People without it would get nothing; keep "
            "“| default: …”."
        )
        yield words % {"names": _names(bare)}


def _names(paths: Iterable[liquid.Path]) -> str:
    return ", ".join(f"{{{{ {name} }}}}" for name in sorted(map(liquid.written, paths)))
