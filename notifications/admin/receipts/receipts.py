"""Receipts on a project's page: the address that apps report to, and the code they need for it.

The snippets are those of docs/receipts.md, which tests run. The real address replaces the example.
"""

from __future__ import annotations

import re
from functools import cache

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

PLACE = "/api/v1/receipts"
EXAMPLE = "https://push.example.com"
gettext_noop("Web: the service worker")  # a title in that file that needs a translation
SNIPPET = re.compile(r"^## (?P<title>.+?)\n.*?```(?P<language>\w+)\n(?P<code>.*?)```", re.M | re.S)


def told_where() -> SafeString:
    address = settings.PHONES_URL
    context = {
        "address": f"{address}{PLACE}" if address else "",
        "snippets": [
            (_(title), language, code.replace(EXAMPLE, address or EXAMPLE))
            for title, language, code in _snippets()
        ],
    }
    return render_to_string("admin/notifications/project/receipts.html", context)


@cache
def _snippets() -> list[tuple[str, str, str]]:
    text = (settings.BASE_DIR / "docs" / "receipts.md").read_text()
    return [(match["title"], match["language"], match["code"]) for match in SNIPPET.finditer(text)]
