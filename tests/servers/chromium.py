"""Chromium, driven by Playwright: the headless shell, or a whole one where that lacks something."""

from __future__ import annotations

import shutil
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
# The same engine without a desktop's windows and notifications, for 60 % of the CPU.
HEADLESS_SHELL = shutil.which("chromium-headless-shell") or CHROMIUM
QUIET = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]
# How long a page takes says nothing: a test that waits for something goes on when it is there.
LONG = 60_000.0  # ms

_ends, _open = ExitStack(), dict[str | None, Browser]()


def opened(executable: str | None) -> Browser:
    """The one that is open already, if it is of this kind: to start one takes a second of CPU."""
    if executable not in _open:
        close()
        _open[executable] = _launched(executable)
    return _open[executable]


def close() -> None:
    """Playwright keeps an event loop in this thread, where nobody else may have one then."""
    _open.clear()
    _ends.close()


def _launched(executable: str | None) -> Browser:
    environment = _ends.enter_context(pytest.MonkeyPatch.context())
    playwright = _ends.enter_context(sync_playwright())
    environment.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")  # the ORM is not called from its loop
    expect.set_options(timeout=LONG)
    browser = playwright.chromium.launch(executable_path=executable, args=QUIET)
    _ends.callback(browser.close)
    browser.on("context", _be_patient)
    return browser


def _be_patient(context: BrowserContext) -> None:
    context.set_default_timeout(LONG)
