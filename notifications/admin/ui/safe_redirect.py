"""Safe redirects: only to pages of this site, whatever a header or a form names."""

from __future__ import annotations

import re
from typing import Any

from django.urls import reverse

# A path on this site. To a browser, `//evil` and `/\evil` are other sites.
A_PATH = re.compile(r"/(?![/\\])[^\x00-\x20\x7f\\]*")
LONGEST = 2_000


def page(wanted: str) -> str:
    """The wanted page, if it is on this site; else the overview."""
    ours = len(wanted) <= LONGEST and A_PATH.fullmatch(wanted)
    return wanted if ours else reverse("admin:index")


def page_open(request: Any) -> str:
    """The open page that sent the request. A header names it, and anybody can write one."""
    try:
        return page(request.htmx.current_url_abs_path or "")
    except ValueError:  # no address at all
        return page("")
