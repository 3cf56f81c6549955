"""Upload: a file arrives in parts, in any order; a part may be sent again.

If the process dies here: a part is stored completely or not at all, and the sender asks
`parts_there`.
"""

from __future__ import annotations

import hashlib
import unicodedata
from dataclasses import dataclass
from datetime import datetime, timedelta

import psycopg
from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.db.models import DateTimeField, Max, QuerySet, Sum
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce
from django.utils.translation import gettext

from notifications.people.importing.model import UNFINISHED, Import, ImportPart
from notifications.people.project import Project
from notifications.postgres import clock

MOST_BYTES = 2 * 1024**3
PART_BYTES = 8 * 1024**2
MAX_PARTS = 20_000  # numbers count from 0; a sender of tiny parts fills no table
MAX_OPEN = 5  # uploads of one person that are not finished
# An upload that a killed command left can be continued. After this time it does not count as open
# and blocks nobody, but its bytes still count.
OPEN_FOR = timedelta(hours=1)
LAST_PART = "last_part_at"  # in `sniffed`
TOUCHED_AT = Coalesce(Cast(KeyTextTransform(LAST_PART, "sniffed"), DateTimeField()), "created_at")
MAX_HELD = 8 * MOST_BYTES  # declared for all unfinished imports of a project
LONGEST_NAME = 255
TURNS = frozenset(["LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"])
KINDS = (".csv", ".tsv", ".txt", ".zip")


def check_declared(name: str, size: int) -> None:
    """Check what is declared before a byte arrives. Raises ValidationError by field."""
    if not name.lower().endswith(KINDS):
        text = gettext("“%(name)s” is not one of %(kinds)s.")
        raise ValidationError({"name": text % {"name": name[:100], "kinds": ", ".join(KINDS)}})
    if len(name) > LONGEST_NAME:
        text = gettext("The file's name has %(count)s characters; at most %(most)s characters.")
        raise ValidationError({"name": text % {"count": len(name), "most": LONGEST_NAME}})
    if any(map(_is_unseen, name)):
        text = gettext("The file's name holds invisible characters. Rename the file.")
        raise ValidationError({"name": text})
    if size <= 0:
        raise ValidationError({"size": gettext("The file is empty.")})
    if size > MOST_BYTES:
        text = gettext("The file has %(size)s MB; at most %(most)s MB. Split it, or zip it.")
        raise ValidationError({"size": text % _megabytes(size=size, most=MOST_BYTES)})


def _is_unseen(letter: str) -> bool:
    """Whether it is a control character, half of a character, or changes the text's direction."""
    turns = unicodedata.bidirectional(letter) in TURNS
    return turns or unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp")


def check_room(project: Project, by: str, size: int) -> None:
    """Raises ValidationError if the sender or the project has too much unfinished.

    Called in the transaction that begins an upload: a second upload that begins waits, and is
    counted after it.
    """
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    unfinished = Import.objects.filter(project=project, state__in=UNFINISHED).order_by("pk")
    sent = unfinished.filter(state=Import.State.UPLOADING, by=by)
    own = touched_since(sent, clock.now() - OPEN_FOR)
    if own.count() >= MAX_OPEN:
        text = gettext(
            "%(count)s uploads are not finished. Cancel or finish one of: %(names)s. "
            "An upload that stopped no longer counts an hour after its last part."
        )
        values = {"count": own.count(), "names": _names(own)}
        raise ValidationError({"name": text % values})
    declared = unfinished.aggregate(sum=Sum("size"))["sum"] or 0
    if declared + size > MAX_HELD:
        text = gettext(
            "%(held)s MB are held for imports that are not finished; at most %(most)s MB. "
            "Finish, cancel or delete one of: %(names)s."
        )
        values = {**_megabytes(held=declared, most=MAX_HELD), "names": _names(unfinished)}
        raise ValidationError({"size": text % values})


def touched_since(imports: QuerySet[Import], at: datetime) -> QuerySet[Import]:
    """Imports of which a part has arrived since then.

    If a server of an older release takes the parts, the time of the last one is unknown: then the
    beginning of the upload counts.
    """
    return imports.annotate(touched_at=TOUCHED_AT).filter(touched_at__gte=at)


def _names(held: QuerySet[Import]) -> str:
    return ", ".join(name[:60] for name in held.values_list("name", flat=True)[:MAX_OPEN])


def _megabytes(**sizes: int) -> dict[str, str]:
    """The sizes in megabytes, rounded up, so that one byte too many is visible."""
    return {name: f"{-(-size // 1024**2):,}" for name, size in sizes.items()}


def add_part(one: Import, number: int, content: bytes) -> None:
    """Store a part; if it is sent twice, it is stored once.

    Raises ValidationError, and InvalidMove if no part is expected.
    """
    _check_part(number, content)
    digest = hashlib.sha256(content).hexdigest()
    with transaction.atomic():
        # The parts of one file are added one after the other, so that their sum is known.
        locked = Import.objects.select_for_update(no_key=True).get(pk=one.pk)
        if locked.state != Import.State.UPLOADING:
            raise Import.InvalidMove(gettext("All parts of this file are here already."))
        stored_digest = locked.parts.filter(number=number).values_list("digest", flat=True).first()
        if stored_digest is None:
            _check_place(locked, number, len(content))
            _check_sum(locked, len(content))
            _insert(locked, number, content, digest)
            sniffed = {**locked.sniffed, LAST_PART: clock.now().isoformat()}
            Import.objects.filter(pk=locked.pk).update(sniffed=sniffed)
        elif stored_digest != digest:
            text = gettext(
                "Part %(number)s was already uploaded with different content. Start a new import."
            )
            raise ValidationError({"number": text % {"number": number}})


def _insert(import_: Import, number: int, content: bytes, digest: str) -> None:
    """Store a part, with its bytes as a param of the statement.

    Django would write them into the statement, as a text twice as long: a part of 8 MB would take
    100 MB in a web process.
    """
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        cursor.execute(
            "INSERT INTO notifications_importpart (owner_id, number, content, size, digest)"
            " VALUES (%s, %s, %b, %s, %s)",
            [import_.pk, number, content, len(content), digest],
            prepare=False,
        )


def _check_part(number: int, content: bytes) -> None:
    if not 0 <= number < MAX_PARTS:
        text = gettext("Parts are numbered from 0 to %(most)s.")
        raise ValidationError({"number": text % {"most": f"{MAX_PARTS - 1:,}"}})
    if not content:
        raise ValidationError({"content": gettext("The part is empty.")})
    if len(content) > PART_BYTES:
        text = gettext("A part has at most %(most)s bytes; this one has %(count)s.")
        values = {"most": f"{PART_BYTES:,}", "count": f"{len(content):,}"}
        raise ValidationError({"content": text % values})


def _check_place(import_: Import, number: int, size: int) -> None:
    """Refuse a part of the wrong size: if the sender declared a size, all but the last have it."""
    part_bytes = import_.sniffed.get("part_bytes")
    if part_bytes is None:
        return
    parts = -(-import_.size // part_bytes)
    if number >= parts:
        text = gettext("The file has %(count)s parts, numbered from 0.")
        raise ValidationError({"number": text % {"count": f"{parts:,}"}})
    whole = min(part_bytes, import_.size - number * part_bytes)
    if size != whole:
        text = gettext("Part %(number)s has %(whole)s bytes, and %(size)s came.")
        values = {"number": number, "whole": f"{whole:,}", "size": f"{size:,}"}
        raise ValidationError({"content": text % values})


def _check_sum(import_: Import, more: int) -> None:
    if bytes_there(import_) + more > import_.size:
        text = gettext("More bytes arrived than the %(size)s declared.")
        raise ValidationError({"content": text % {"size": f"{import_.size:,}"}})


def bytes_there(one: Import) -> int:
    return one.parts.aggregate(sum=Sum("size"))["sum"] or 0


def parts_there(one: Import) -> dict[int, str]:
    """Number and SHA-256 of each part that has arrived: to continue, send the others."""
    return dict(one.parts.order_by("number").values_list("number", "digest"))


def check_whole(one: Import) -> None:
    """Raises ValidationError if a part is missing."""
    last = one.parts.aggregate(last=Max("number"))["last"]
    if last is None or one.parts.count() != last + 1 or bytes_there(one) != one.size:
        text = gettext("%(there)s of %(size)s bytes arrived, in %(count)s parts. Send the others.")
        values = {
            "there": f"{bytes_there(one):,}",
            "size": f"{one.size:,}",
            "count": one.parts.count(),
        }
        raise ValidationError({"parts": text % values})


def forget(one: Import) -> None:
    """Delete the bytes; they are no longer needed."""
    ImportPart.objects.filter(owner=one.pk).delete()


# --- Continuing: the same name, size and modification time mean the same file ---------------------


@dataclass(frozen=True)
class Beginning:
    """How many parts have arrived without a gap, and their bytes.

    `part_bytes`: the size of a full part, or 0 if unknown.
    """

    parts: int
    bytes: int
    part_bytes: int


def remember(one: Import, *, modified: int, part_bytes: int) -> None:
    """Store when the file was last changed on the sender's disk, in milliseconds, and the size of
    its parts. Nothing more is known until the file is read."""
    one.sniffed = {"modified": modified, "part_bytes": part_bytes}
    one.save(update_fields=["sniffed"])


def same_file(project: Project, *, name: str, size: int, modified: int, by: str) -> Import | None:
    """The sender's own unfinished upload of this file, or None.

    A colleague's file of that name may be another file.
    """
    begun = Import.objects.filter(project=project, state=Import.State.UPLOADING, by=by)
    same = begun.filter(name=name[-200:], size=size, sniffed__modified=modified)
    return same.order_by("-pk").first()


def beginning(one: Import) -> Beginning:
    sizes = dict(one.parts.order_by("number").values_list("number", "size"))
    parts = next(number for number in range(len(sizes) + 1) if number not in sizes)
    part_bytes = one.sniffed.get("part_bytes", sizes.get(0, 0))
    return Beginning(parts, sum(sizes[number] for number in range(parts)), part_bytes)
