"""Token endpoint: a transport for google-auth over urllib.

google-auth's own transports need `requests` or `urllib3`, for one call an hour. This one also keeps
what only the raw answer shows: whether the server is busy, and what its clock says.
"""

from __future__ import annotations

import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from google.auth import exceptions, transport

from notifications.proxy import Proxy, on_the_way, proxy_to
from notifications.trust import trusting

TIMEOUT = 5.0  # seconds until the answer begins, and again until it ends
MOST_BYTES = 64 * 1024  # of an answer; a token has 2 kB


REDIRECTS = range(300, 400)


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirects. Google's endpoint has none, and another address, perhaps without TLS,
    must never get the request."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Answer(transport.Response):
    def __init__(self, status: int, headers: Mapping[str, str], data: bytes) -> None:
        self._status, self._headers, self._data = status, headers, data

    @property
    def status(self) -> int:
        return self._status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._headers

    @property
    def data(self) -> bytes:
        return self._data


class TokenEndpoint(transport.Request):
    def __init__(self, ca_file: str | None) -> None:
        self._tls = trusting(ca_file)
        self.is_busy = False
        self.clock_ahead: float | None = None  # seconds our clock is ahead of the other side's

    def __call__(
        self,
        url: str,
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        **_: Any,
    ) -> Answer:
        self.is_busy, self.clock_ahead = False, None
        request = urllib.request.Request(url, body, dict(headers or {}), method=method)
        proxy = proxy_to(url)
        try:
            answer = self._ask(request, proxy, timeout or TIMEOUT)
        except (OSError, http.client.HTTPException) as error:
            reason = on_the_way(str(error) or type(error).__name__, proxy)
            raise exceptions.TransportError(reason) from error
        if answer.status in REDIRECTS:
            raise exceptions.TransportError("the token endpoint leads to another address")
        # For too many requests, a 403 that mentions a rate limit has been seen.
        limited = answer.status == 403 and b"rate" in answer.data.lower()
        self.is_busy = answer.status in (408, 429) or answer.status >= 500 or limited
        self.clock_ahead = _clock_ahead(answer.headers)
        return answer

    def _ask(self, request: urllib.request.Request, proxy: Proxy | None, timeout: float) -> Answer:
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({"https": proxy.url} if proxy else {}),
            urllib.request.HTTPSHandler(context=self._tls),
            NoRedirects(),
        )
        try:
            with opener.open(request, timeout=timeout) as reply:
                return Answer(reply.status, _lowercase(reply.headers), _read_body(reply))
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, _lowercase(error.headers), _read_body(error))


def _read_body(reply: Any) -> bytes:
    """Read the whole body. Raises OSError if it is too large or too slow for a token endpoint."""
    data, ends_at = b"", time.monotonic() + TIMEOUT
    while piece := reply.read1(MOST_BYTES):
        data += piece
        if len(data) > MOST_BYTES:
            raise OSError("the token endpoint answered more than 64 kB")
        if time.monotonic() > ends_at:
            raise OSError(f"the token endpoint took longer than {TIMEOUT:g} s to answer")
    return data


def _lowercase(headers: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _clock_ahead(headers: Mapping[str, str]) -> float | None:
    try:
        return time.time() - parsedate_to_datetime(headers["date"]).timestamp()
    except (KeyError, ValueError, TypeError):
        return None
