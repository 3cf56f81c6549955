"""Polling: when a live page refreshes itself. These are parts of its `hx-trigger`."""

from __future__ import annotations

from datetime import timedelta

COMING_BACK = "visibilitychange from:document"
LONGEST_TIMER = timedelta(days=20)  # of a browser: 24.8 days
