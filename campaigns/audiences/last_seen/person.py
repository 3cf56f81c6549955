"""Rules that look for somebody who stays away, but ask each of their devices.

“None of: device last seen within 30 days” fits the old phone of somebody who used another one
yesterday. Asked when the person was last seen, it does not.
"""

from __future__ import annotations

from typing import Any

DEVICE, PERSON = "last_seen_at", "person_seen_at"
RECENT, LONG_AGO = ("within_last", "after"), ("before",)


def asks_devices(tree: dict[str, Any]) -> bool:
    return asking_people(tree) != tree


def asking_people(tree: dict[str, Any], *, turned: bool = False) -> dict[str, Any]:
    """The same rules, where those about a device not seen lately are about its person.

    `turned`: it stands inside an odd number of “not”.
    """
    for word in ("all", "any"):
        if word in tree:
            return {word: [asking_people(inner, turned=turned) for inner in tree[word]]}
    if "not" in tree:
        return {"not": asking_people(tree["not"], turned=not turned)}
    stays_away = tree["field"] == DEVICE and tree["op"] in (RECENT if turned else LONG_AGO)
    return {**tree, "field": PERSON} if stays_away else tree
