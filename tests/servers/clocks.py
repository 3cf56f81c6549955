"""Another clock for processes of our own: the library that shows them one, where there is one."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path


def library() -> Path | None:
    """For LD_PRELOAD; its package brings one for Linux."""
    found = find_spec("libfaketime")
    if found is None or found.origin is None or not sys.platform.startswith("linux"):
        return None
    return Path(found.origin).parent / "vendor" / "libfaketime" / "src" / "libfaketime.so.1"
