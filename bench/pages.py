"""Pages over a million people: what a marketer waits for, median of five."""

from __future__ import annotations

import http.cookiejar
import statistics
import time
import urllib.parse
import urllib.request

import psycopg

from bench.stack import Stack

PEOPLE = 1_000_000
PATHS = {
    "overview": "/admin/",
    "people": "/admin/notifications/contact/",
    "people, searched": "/admin/notifications/contact/?q=u0000012",
    "devices": "/admin/notifications/device/",
    "campaigns": "/admin/campaigns/campaign/",
    "runs": "/admin/campaigns/run/",
}
COPIES = """
INSERT INTO notifications_contact
    (project_id, external_id, attributes, locale, timezone, created_at, updated_at)
SELECT project_id, external_id || '-' || n, attributes, locale, timezone, created_at, updated_at
FROM notifications_contact, generate_series(1, %(copies)s) n
"""
DEVICES = """
INSERT INTO notifications_device
    (project_id, contact_id, kind, address, platform, app_version, registered_at, last_seen_at,
     retired_reason, retired_by)
SELECT project_id, id, 'token', 'copy' || id || ':APA91b', 'android', '5.1.3', created_at,
    created_at, '', ''
FROM notifications_contact WHERE external_id LIKE '%%-%%'
"""


def measure(stack: Stack) -> dict[str, float]:
    _grow(stack)
    browser = _log_in(stack)
    return {name: _median(browser, stack.url + path) for name, path in PATHS.items()}


def _grow(stack: Stack) -> None:
    with psycopg.connect(stack.env["DATABASE_URL"], autocommit=True) as connection:
        counted = connection.execute("SELECT count(*) FROM notifications_contact").fetchone()
        assert counted is not None
        connection.execute(COPIES, {"copies": PEOPLE // counted[0] - 1})
        connection.execute(DEVICES, {})
        connection.execute("ANALYZE")


def _log_in(stack: Stack) -> urllib.request.OpenerDirector:
    jar = http.cookiejar.CookieJar()
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    login = f"{stack.url}/admin/login/"
    browser.open(login).read()
    token = next(cookie.value for cookie in jar if cookie.name == "csrftoken")
    fields = {"username": "admin", "password": stack.env["ADMIN_PASSWORD"]}
    form = urllib.parse.urlencode({**fields, "csrfmiddlewaretoken": token}).encode()
    browser.open(urllib.request.Request(login, form, {"Referer": login})).read()
    return browser


def _median(browser: urllib.request.OpenerDirector, url: str) -> float:
    times = []
    for _ in range(5):
        started = time.monotonic()
        page = browser.open(url)
        page.read()
        assert page.url.startswith(url[:30]) and "login" not in page.url
        times.append(time.monotonic() - started)
    return statistics.median(times)
