"""`make run SMALL=1`: fewer processes and less memory, for a machine with 1 GB."""

from __future__ import annotations

from collections.abc import Mapping

from config.stack import StackError


def is_small(environ: Mapping[str, str]) -> bool:
    value = environ.get("SMALL", "")
    if value not in ("", "0", "1"):
        raise StackError(f"SMALL must be 1 (a small stack), or 0 or empty: {value!r}")
    return value == "1"
