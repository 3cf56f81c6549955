"""Where a person may be sent on to: a page of ours, whatever a header or a form names."""

from __future__ import annotations

import re
from typing import Any

from django.urls import reverse

# From the root of this site. `//evil`, and `/\evil` to a browser, is another one.
A_PATH = re.compile(r"/(?![/\\])[^\x00-\x20\x7f\\]*")
LONGEST = 2_000


def page(wanted: str) -> str:
    """That page, if it is one of ours; else the overview."""
    ours = len(wanted) <= LONGEST and A_PATH.fullmatch(wanted)
    return wanted if ours else reverse("admin:index")


def page_open(request: Any) -> str:
    """The one a person looks at, of which a part asks. A header says it: anybody can write one."""
    try:
        return page(request.htmx.current_url_abs_path or "")
    except ValueError:  # no address at all
        return page("")
