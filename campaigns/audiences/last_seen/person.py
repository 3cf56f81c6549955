"""Rules that are meant for people who stay away, but look at single devices.

“None of: device last seen within 30 days” matches the old phone of a person who used another one
yesterday. The same rule on “person last seen” does not.
"""

from __future__ import annotations

from typing import Any

DEVICE, PERSON = "last_seen_at", "person_seen_at"
RECENT, LONG_AGO = ("within_last", "after"), ("before",)


def asks_devices(tree: dict[str, Any]) -> bool:
    return asking_people(tree) != tree


def asking_people(tree: dict[str, Any], *, turned: bool = False) -> dict[str, Any]:
    """The same tree, with rules on a device not seen lately changed to rules on its person.

    `turned`: the node is inside an odd number of “not”s.
    """
    for word in ("all", "any"):
        if word in tree:
            return {word: [asking_people(inner, turned=turned) for inner in tree[word]]}
    if "not" in tree:
        return {"not": asking_people(tree["not"], turned=not turned)}
    stays_away = tree["field"] == DEVICE and tree["op"] in (RECENT if turned else LONG_AGO)
    return {**tree, "field": PERSON} if stays_away else tree
