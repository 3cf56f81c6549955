"""The feed: the product's own, with the bug that CHAOS_PLANTED names."""

from __future__ import annotations

import os

import config.feed.__main__ as feed

if __name__ == "__main__":
    if planted := os.environ.get("CHAOS_PLANTED"):
        from tests.chaos.planted import plant

        plant(planted)
    feed.main()
