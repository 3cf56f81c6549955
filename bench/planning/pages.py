"""Pages over many people: what a marketer waits for, median of five."""

from __future__ import annotations

import http.cookiejar
import statistics
import time
import urllib.parse
import urllib.request

from bench.stack import Stack

PATHS = {
    "overview": "/admin/",
    "people": "/admin/notifications/contact/",
    "people, searched": "/admin/notifications/contact/?q=b12345",
    "devices": "/admin/notifications/device/",
    "campaigns": "/admin/campaigns/campaign/",
    "runs": "/admin/campaigns/run/",
}


def measure(stack: Stack) -> dict[str, float]:
    visitor = Visitor(stack)
    return {name: visitor.median(path) for name, path in PATHS.items()}


class Visitor:
    """Somebody who has logged in and may see everything."""

    def __init__(self, stack: Stack) -> None:
        self._url = stack.url
        self._browser = _log_in(stack)

    def median(self, path: str) -> float:
        times = []
        for _ in range(5):
            started = time.monotonic()
            page = self._browser.open(self._url + path)
            page.read()
            assert page.url == self._url + path, f"{path} led to {page.url}"
            times.append(time.monotonic() - started)
        return statistics.median(times)


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
