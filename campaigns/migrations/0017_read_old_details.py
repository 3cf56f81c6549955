"""What the release before wrote as English, as codes: whoever reads Korean reads it in Korean.

It has the sentences of that release by itself, for the code goes on. Not in one transaction, and no
statement takes more than a row: workers of both releases are at work meanwhile. It may be done
again: a row that was read has its code, and one that somebody moved since is left alone.
"""

from __future__ import annotations

import re
from typing import Any

from django.db import migrations

AT_ONCE = 1_000
PLATFORMS = {"Android": "android", "iOS": "ios", "Web": "web"}
BY = r"(?:user|key):.+|run:[0-9]+|carillon"
N = r"[0-9,]+"
NONE_RETIRED = r" No device was retired\."
RETIRED = rf" (?P<retired>{N}) devices were retired before\."

# As it wrote them; what every one is of. By hand has a cause, and being left out has none: FCM's
# own words stand beside every other cause, and may be any.
SENTENCES: tuple[tuple[str, str, tuple[str, ...] | None], ...] = (
    ("unreadable", rf"(?P<count>{N}) requests of one window did not fit FCM's schema\.", None),
    ("foreign", rf"(?P<count>{N}) of (?P<answered>{N}) addresses are of another project\.", None),
    ("refused", rf"The first (?P<count>{N}) were all refused\.", None),
    ("dying", rf"(?P<dead>{N}) of (?P<answered>{N}) addresses\.{NONE_RETIRED}", None),
    ("dying_retired", rf"(?P<dead>{N}) of (?P<answered>{N}) addresses\.{RETIRED}", None),
    (
        "dying",
        rf"(?P<dead>{N}) of the (?P<answered>{N}) addresses of chunk {N}\.{NONE_RETIRED}",
        None,
    ),
    (
        "dying_retired",
        rf"(?P<dead>{N}) of the (?P<answered>{N}) addresses of chunk {N}\.{RETIRED}",
        None,
    ),
    (
        "storm",
        rf"(?P<copies>{N}) requests for (?P<planned>{N}) recipients may have arrived\.",
        None,
    ),
    ("held", rf"(?P<count>{N}) devices wait: (?P<platforms>[A-Za-z, ]+)\.", None),
    ("stuck", rf"(?P<count>{N}) chunks are left\.", None),
    ("late", rf"It was due (?P<minutes>{N}) min ago\.", None),
    ("late", rf"It was due (?P<hours>{N}) h ago\.", None),
    ("silent", rf"Nothing happened for (?P<minutes>{N}) min\.", None),
    ("silent", rf"Nothing happened for (?P<hours>{N}) h\.", None),
    (
        "list_gone",
        r"Its rules name a list that was deleted: (?P<lists>[0-9]+(?:, [0-9]+)*)\. "
        r"Cancel it and launch its campaign again\.",
        None,
    ),
    ("left_out", r"Left out: run (?P<run>[0-9]+) of this campaign was not finished yet\.", ("",)),
    ("left_out_by", rf"Left out by (?P<who>{BY}); the series went on\.", ("",)),
    ("by_hand", rf"It was (?P<who>{BY})\.", ("by_hand",)),
)
# It had one form of each; the code that reads a row wants the English that it would write itself.
ONE = (
    (r"^1 requests of one window", "1 request of one window"),
    (r" 1 devices were retired", " 1 device was retired"),
    (r" 1 recipients may", " 1 recipient may"),
    (r"^1 devices wait", "1 device waits"),
    (r"^1 chunks are", "1 chunk is"),
    (r" of the ([0-9,]+) addresses of chunk [0-9,]+\.", r" of \1 addresses."),
)


def read(cause: str, english: str) -> dict[str, Any]:
    """A row's three columns; none for words that are nobody's sentence."""
    for code, pattern, causes in SENTENCES:
        found = re.fullmatch(pattern, english, re.DOTALL)
        if found and (causes is None or cause in causes):
            return columns(code, found.groupdict(), english)
    return {}


def columns(code: str, said: dict[str, str], english: str) -> dict[str, Any]:
    try:
        args = dict(argument(name, value) for name, value in said.items())
    except (KeyError, ValueError):  # a platform or a number that we do not know
        return {}
    if code in ("unreadable", "dying", "dying_retired", "storm", "held", "stuck"):
        for several, one in ONE:
            english = re.sub(several, one, english)
    return {"detail_code": code, "detail_args": args, "cause_detail": english}


def argument(name: str, said: str) -> tuple[str, Any]:
    if name == "who":
        return name, said
    if name == "platforms":
        return name, [PLATFORMS[one] for one in said.split(", ")]
    if name == "lists":
        return name, [int(one) for one in said.split(", ")]
    number = int(said.replace(",", ""))
    return ("minutes", number * 60) if name == "hours" else (name, number)


def read_all(apps: Any, _editor: Any) -> None:
    runs, last = apps.get_model("campaigns", "Run").objects, 0
    unread = runs.filter(detail_code="").exclude(cause_detail="").order_by("pk")
    rows = unread.values_list("pk", "cause", "cause_detail")
    while batch := list(rows.filter(pk__gt=last)[:AT_ONCE]):
        for pk, cause, english in batch:
            if values := read(cause, english):
                as_seen = {"cause": cause, "cause_detail": english, "detail_code": ""}
                runs.filter(pk=pk, **as_seen).update(**values)
        last = batch[-1][0]


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('campaigns', '0016_detail_codes'),
    ]

    operations = [
        migrations.RunPython(read_all, migrations.RunPython.noop),
    ]
