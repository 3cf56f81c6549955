"""Chromium, driven by Playwright: the headless shell, or a whole one where that lacks something."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
# The same engine without a desktop's windows and notifications, for 60 % of the CPU.
HEADLESS_SHELL = shutil.which("chromium-headless-shell") or CHROMIUM
QUIET = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]


def launched(executable: str | None) -> Iterator[Browser]:
    # How long a page takes says nothing: a test that waits for something goes on when it is there.
    expect.set_options(timeout=20_000)
    with pytest.MonkeyPatch.context() as environment, sync_playwright() as playwright:
        # Playwright keeps an event loop in this thread; the ORM is not called from inside it.
        environment.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        browser = playwright.chromium.launch(executable_path=executable, args=QUIET)
        yield browser
        browser.close()
