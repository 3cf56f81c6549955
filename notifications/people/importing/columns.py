"""Columns: what each column of a file means. Guessed from its name and cells, then checked."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Q, TextChoices
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from notifications.people.attributes import types_of, validate_attribute_name
from notifications.people.consent.category import Category
from notifications.people.contact import MAX_ATTRIBUTES
from notifications.people.importing.cells import is_boolean, is_list, is_number, is_time
from notifications.people.importing.model import Import


class Meaning(TextChoices):
    EXTERNAL_ID = "external_id", _("External id")
    TOKEN = "token", _("Registration token")
    FID = "fid", _("Firebase installation ID")
    PLATFORM = "platform", _("Platform")
    APP_VERSION = "app_version", _("App version")
    SEEN_AT = "device_seen_at", _("Device last seen")
    LOCALE = "locale", _("Language")
    TIMEZONE = "timezone", _("Time zone")
    SUBSCRIBED = "subscribed", _("Subscribed")
    SUBSCRIBED_AT = "subscribed_at", _("Time of that answer")
    CATEGORY = "category", _("Wants a category")
    ATTRIBUTE = "attribute", _("Attribute")
    IGNORE = "ignore", _("Ignore")


class Type(TextChoices):
    TEXT = "text", _("Text")
    NUMBER = "number", _("Number")
    BOOLEAN = "boolean", _("Yes or no")
    TIME = "time", _("Time")
    LIST = "list", _("List")


MANY = {Meaning.ATTRIBUTE, Meaning.CATEGORY, Meaning.IGNORE}
OF_A_DEVICE = (Meaning.PLATFORM, Meaning.APP_VERSION, Meaning.SEEN_AT)
NAMED = {Meaning.ATTRIBUTE, Meaning.CATEGORY}
LINE, COLUMN, REASON = "refused_line", "refused_column", "refused_reason"
OURS = (LINE, COLUMN, REASON)  # in a file of refused rows that is imported again
SPELLINGS = {
    Meaning.EXTERNAL_ID: "external_id id user_id userid uid customer_id member_id contact_id"
    " contact person_id user 회원번호 회원id 아이디 고객번호",
    Meaning.TOKEN: "token fcm_token push_token device_token registration_token fcm 토큰",
    Meaning.FID: "fid installation_id firebase_installation_id",
    Meaning.PLATFORM: "platform os device_os 플랫폼",
    Meaning.APP_VERSION: "app_version appversion version 앱버전",
    Meaning.SEEN_AT: "device_seen_at device_last_seen last_seen_at last_seen 마지막접속일시",
    Meaning.LOCALE: "locale language lang 언어",
    Meaning.TIMEZONE: "timezone time_zone tz zone 시간대",
    Meaning.SUBSCRIBED: "subscribed consent opt_in optin marketing_consent push_consent 수신동의",
    Meaning.SUBSCRIBED_AT: "subscribed_at consent_at opt_in_at optin_at 수신동의일시",
}
ENOUGH = 4  # cells from which one may not fit the type of its column
CODE = re.compile(r"0[0-9]|(?=.*[0-9]).*[^\W\d_]")  # a leading 0, or digits and letters
KNOWN = {word: meaning for meaning, words in SPELLINGS.items() for word in words.split()}


@dataclass(frozen=True)
class Column:
    """A column and its meaning. `head`: its name in the file. `name`: the attribute's name, or the
    category's slug."""

    head: str
    meaning: str
    name: str = ""
    type: str = Type.TEXT


def guess(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[Column]:
    """What each column is likely to mean. No meaning is given to two columns."""
    meanings: set[tuple[str, str]] = set()
    guessed = []
    for index, name in enumerate(head):
        cells = [row[index] for row in rows if index < len(row) and row[index].strip()]
        column = _guess_one(name, cells)
        key = (column.meaning, column.name)
        if key in meanings and column.meaning != Meaning.IGNORE:
            column = Column(name, Meaning.IGNORE)
        meanings.add(key)
        guessed.append(column)
    return guessed


def _guess_one(head: str, cells: list[str]) -> Column:
    word = re.sub(r"[\s.-]+", "_", head.strip().lower())
    if word in OURS or not word:
        return Column(head, Meaning.IGNORE)
    if word.startswith("category:"):
        return Column(head, Meaning.CATEGORY, word.removeprefix("category:"))
    if meaning := KNOWN.get(word):
        return Column(head, meaning)
    name = attribute_name(head)
    return (
        Column(head, Meaning.ATTRIBUTE, name, type_of(cells))
        if name
        else Column(head, Meaning.IGNORE)
    )


def attribute_name(head: str) -> str:
    """A name that rules and templates can use; empty if no usable character is left."""
    name = re.sub(r"\W+", "_", head.strip().removeprefix("attributes."), flags=re.ASCII)
    name = name.strip("_")[:64]
    return f"_{name}"[:64] if name[:1].isdigit() else name


def type_of(cells: Sequence[str]) -> Type:
    """The type that all of these cells can be read as. Digits with a leading 0 are a text, such as
    a postcode.

    Of four cells or more, one may be neither number nor time in a column of these: its row is
    refused, as a later row would be. But a code among numbers (14a, 01067) makes all of them texts.
    """
    kinds = (
        (Type.NUMBER, is_number), (Type.BOOLEAN, is_boolean),
        (Type.TIME, is_time), (Type.LIST, is_list),
    )  # fmt: skip
    for kind, fits in kinds:
        if cells and all(fits(cell) for cell in cells):
            return kind
    numbers_but_one = _all_but_one(is_number, cells)
    if numbers_but_one and not CODE.match(numbers_but_one.strip()):
        return Type.NUMBER
    return Type.TIME if _all_but_one(is_time, cells) else Type.TEXT


def _all_but_one(fits: Callable[[str], bool], cells: Sequence[str]) -> str:
    """The only cell that does not fit; empty if all fit, or several do not."""
    odd = [cell for cell in cells if not fits(cell)]
    return odd[0] if len(odd) == 1 and len(cells) >= ENOUGH else ""


def columns_of(one: Import) -> list[Column]:
    return [Column(**each) for each in one.mapping]


def written(columns: Iterable[Column]) -> list[dict[str, str]]:
    """The columns as `Import.mapping` stores them."""
    return [{name: str(value) for name, value in asdict(each).items()} for each in columns]


def digest_of(head: Sequence[str]) -> str:
    """A digest of the header that does not depend on the order of the columns."""
    return _digest(sorted(head))


def _digest(head: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(list(head)).encode()).hexdigest()


def remembered(project_id: int, head: Sequence[str]) -> list[Column] | None:
    """The mapping of the newest checked or started import with the same columns.

    A file of refused rows has three more columns in front of the original ones.
    """
    ours = len(OURS) if tuple(head[: len(OURS)]) == OURS else 0
    names = head[ours:]
    digests = [digest_of(names), _digest(names)]  # the previous release did not sort the names
    confirmed = Q(started_at__isnull=False) | Q(state=Import.State.CHECKED)
    same = Import.objects.filter(confirmed, project=project_id, head_digest__in=digests)
    before = same.order_by("-pk").first()
    if before is None:
        return None
    by_head: dict[str, list[Column]] = defaultdict(list)
    for column in columns_of(before):
        by_head[column.head].append(column)
    return [
        *(Column(name, Meaning.IGNORE) for name in head[:ours]),
        *(by_head[name].pop(0) for name in names),
    ]


def from_pairs(
    head: Sequence[str], guessed: Sequence[Column], declared: Mapping[str, Any]
) -> list[Column]:
    """The guess, overridden by a map file for some columns. Raises ValidationError by column.

    {"User No": "external_id", "Joined": {"meaning": "attribute", "name": "joined", "type": "time"}}
    """
    unknown = sorted(set(declared) - set(head))
    if unknown:
        text = gettext("The file has no such column. It has: %(columns)s.")
        known = ", ".join(head)[:300]
        raise ValidationError({name[:100]: text % {"columns": known} for name in unknown[:20]})
    return [
        _declared_column(column, declared[column.head]) if column.head in declared else column
        for column in guessed
    ]


def _declared_column(guessed: Column, declared: Any) -> Column:
    values = {"meaning": declared} if isinstance(declared, str) else declared
    fits = isinstance(values, dict) and all(isinstance(value, str) for value in values.values())
    if not fits or set(values) - {"meaning", "name", "type"} or "meaning" not in values:
        text = gettext(
            'Set what it means, such as "ignore" or {"meaning": …, "name": …, "type": …}.'
        )
        raise ValidationError({guessed.head: text})
    meaning, _colon, name = values["meaning"].partition(":")
    name = values.get("name") or name
    if meaning == Meaning.ATTRIBUTE:
        name = name or attribute_name(guessed.head)
    return Column(guessed.head, meaning, name, values.get("type", guessed.type))


def validate_mapping(columns: Sequence[Column], *, head: Sequence[str], project_id: int) -> None:
    """Raises ValidationError by the head of each wrong column; "" is the mapping itself."""
    wrong: dict[str, str] = {}
    if [column.head for column in columns] != list(head):
        raise ValidationError({"": gettext("Set what each column of the file means, in order.")})
    slugs = set(Category.objects.filter(project=project_id).values_list("slug", flat=True))
    types = types_of(project_id)
    for column in columns:
        if problem := _problem(column, slugs) or _of_another_type(column, types):
            wrong[column.head] = problem
    wrong |= _repeated_meanings(columns)
    if problem := _problem_of_all(columns):
        wrong[""] = problem
    if wrong:
        raise ValidationError(wrong)


def _problem(column: Column, slugs: set[str]) -> str:
    if column.meaning not in Meaning.values:
        text = gettext("“%(meaning)s” is not a meaning of a column. Use one of: %(known)s.")
        return text % {"meaning": column.meaning[:50], "known": ", ".join(Meaning.values)}
    if column.meaning == Meaning.CATEGORY and column.name not in slugs:
        text = gettext("There is no category “%(slug)s” in this project. There are: %(known)s.")
        return text % {"slug": column.name[:50], "known": ", ".join(sorted(slugs)) or "–"}
    if column.meaning != Meaning.ATTRIBUTE:
        return ""
    if column.type not in Type.values:
        text = gettext("“%(type)s” is not a type. Use one of: %(known)s.")
        return text % {"type": column.type[:50], "known": ", ".join(Type.values)}
    try:
        validate_attribute_name(column.name)
    except ValidationError as error:
        return str(error.messages[0])
    return ""


def _of_another_type(column: Column, types: Mapping[str, str]) -> str:
    """What is wrong if the project has declared another type for the attribute; else empty.

    Every cell is read as the column's type, so this is checked once, not for each row.
    """
    declared = types.get(column.name, "") if column.meaning == Meaning.ATTRIBUTE else ""
    if declared in ("", column.type):
        return ""
    text = gettext(
        "The type of “%(name)s” is declared: %(type)s. Read the column as that, or change its type "
        "on the page Attributes."
    )
    return text % {"name": column.name, "type": Type(declared).label}


def as_declared(columns: Iterable[Column], project_id: int) -> list[Column]:
    """Use the types the project has declared, whatever the first cells look like."""
    types = types_of(project_id)
    return [
        replace(column, type=types[column.name])
        if column.meaning == Meaning.ATTRIBUTE and column.name in types
        else column
        for column in columns
    ]


def _repeated_meanings(columns: Sequence[Column]) -> dict[str, str]:
    def key(column: Column) -> tuple[str, str]:
        return column.meaning, column.name if column.meaning in NAMED else ""

    counts = Counter(key(column) for column in columns if column.meaning != Meaning.IGNORE)
    text = gettext("Another column has the same meaning. Keep one of them and ignore the other.")
    return {column.head: text for column in columns if counts[key(column)] > 1}


def _problem_of_all(columns: Sequence[Column]) -> str:
    means = Counter(column.meaning for column in columns)
    if not means[Meaning.EXTERNAL_ID]:
        return gettext("Choose the column with the external id: the app's own id of each person.")
    if means[Meaning.TOKEN] and means[Meaning.FID]:
        return gettext("A row names one device: give either token or fid, and ignore the other.")
    addresses = means[Meaning.TOKEN] + means[Meaning.FID]
    if addresses and not means[Meaning.PLATFORM]:
        return gettext("Addresses need a column with their platform: android, ios or web.")
    if not addresses and any(means[meaning] for meaning in OF_A_DEVICE):
        return gettext(
            "Platform, app version and when it was last seen belong to a device: choose the column "
            "with its token or fid, or ignore them."
        )
    if means[Meaning.SUBSCRIBED_AT] and not (means[Meaning.SUBSCRIBED] or means[Meaning.CATEGORY]):
        return gettext(
            "The time of an answer needs a column with the answer: subscribed, or a category."
        )
    if means[Meaning.ATTRIBUTE] > MAX_ATTRIBUTES:
        text = gettext(
            "A person has at most %(most)s attributes; there are %(count)s. Ignore some columns."
        )
        return text % {"most": MAX_ATTRIBUTES, "count": means[Meaning.ATTRIBUTE]}
    return ""
