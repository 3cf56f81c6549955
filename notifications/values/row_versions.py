"""Seen: checks that a row is still as a person or program saw it, for pages, launches and the API.

Each reader gets a mark of what was shown, and sends it back with a change. If the mark no longer
matches, API calls and launches are refused and must read again. A page merges what it can.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import orjson

from notifications.values import exact


def mark(shown: Any) -> str:
    """Return the mark: a hash of everything that is shown, and of nothing else."""
    text = exact.dumps(shown, orjson.OPT_UTC_Z)
    return hashlib.sha256(text).hexdigest()[:32]


def carried(shown: Mapping[str, Any]) -> str:
    """Serialize what was shown, for a form to carry."""
    return exact.dumps(shown).decode()


def parse(posted: str) -> dict[str, Any]:
    """Parse what a form carried. Empty: it is not ours, so it does not tell what was seen."""
    with suppress(ValueError):  # a client may send JSON of any depth and with any number
        versions = orjson.loads(posted)
        if isinstance(versions, dict):
            return versions
    return {}


def changed(seen: Mapping[str, Any], shown: Mapping[str, Any]) -> list[str]:
    """Return the names of the values that differ from what was seen."""
    return [name for name, now in shown.items() if seen and seen.get(name) != now]
