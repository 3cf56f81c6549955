"""Seen: is a row still what somebody looked at? One answer for pages, launches and programs.

Whoever looks is given a mark of what was shown, and gives it back with what they want done. A
program and a launch are refused when it does not fit any more, and look again; a page brings in
what it can.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import orjson

from notifications.values import exact


def mark(shown: Any) -> str:
    """Of everything that is shown, and of nothing else."""
    text = exact.dumps(shown, orjson.OPT_UTC_Z)
    return hashlib.sha256(text).hexdigest()[:32]


def carried(shown: Mapping[str, Any]) -> str:
    """As a page carries it."""
    return exact.dumps(shown).decode()


def parse(posted: str) -> dict[str, Any]:
    """What a page carried. Empty: it is none of ours, so nobody says that they saw anything."""
    with suppress(ValueError):  # a browser may send any depth of brackets, any number
        seen = orjson.loads(posted)
        if isinstance(seen, dict):
            return seen
    return {}


def changed(seen: Mapping[str, Any], shown: Mapping[str, Any]) -> list[str]:
    """What is not any more as it was seen, by name."""
    return [name for name, now in shown.items() if seen and seen.get(name) != now]
