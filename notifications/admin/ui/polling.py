"""When a page that shows what moves by itself looks again: what its `hx-trigger` is made of."""

from __future__ import annotations

from datetime import timedelta

COMING_BACK = "visibilitychange from:document"
LONGEST_TIMER = timedelta(days=20)  # of a browser: 24.8 days
