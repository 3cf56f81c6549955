"""Client of FCM's Data API: fetches delivery figures page by page, or says why it cannot.

One call a day needs no client library. It follows no redirects and uses a proxy only as a tunnel,
so the token goes only to Google, or to the emulator.
"""

from __future__ import annotations

import http.client
import json
import math
from dataclasses import dataclass
from datetime import date
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from notifications.fcm_data.day import PERCENTS, Trouble
from notifications.people.project import Project
from notifications.proxy import Proxy, on_the_way, proxy_to
from notifications.trust import trusting

SECONDS = 20.0
PAGE, MAX_PAGES = 1_000, 20
MOST_BYTES = 4 * 1024 * 1024
LONGEST_LABEL = 50
HIGHEST = 2**53
BLOCKS = ("messageOutcomePercents", "deliveryPerformancePercents", "messageInsightPercents")
Json = dict[str, Any]


@dataclass(frozen=True)
class Found:
    day: date
    label: str
    accepted: int
    percents: dict[str, float]


class Unavailable(Exception):
    def __init__(self, trouble: Trouble, said: str = "") -> None:
        super().__init__(trouble, said)
        self.trouble, self.said = trouble, said[:300]


def list_figures(project: Project, token: str) -> list[Found]:
    """Return all figures that FCM has, of the last days. Raises Unavailable."""
    figures: list[Found] = []
    page_token = ""
    for _ in range(MAX_PAGES):
        page = _page(project, token, page_token)
        rows = page.get("androidDeliveryData", [])
        figures += filter(None, map(_found, rows if isinstance(rows, list) else []))
        page_token = page.get("nextPageToken", "")
        if not page_token or not isinstance(page_token, str):
            break
    return figures


def _page(project: Project, token: str, page_token: str) -> Json:
    params = {"pageSize": PAGE, **({"pageToken": page_token} if page_token else {})}
    app = quote(project.fcm_app_id, safe=":")
    path = f"/v1beta1/projects/{project.firebase_project_id}/androidApps/{app}/deliveryData"
    status, body = _get(project, f"{path}?{urlencode(params)}", token)
    answer = _json(body)
    if status != http.HTTPStatus.OK:
        raise _refusal(status, answer or {})
    if answer is None:
        raise Unavailable(Trouble.UNREADABLE, f"HTTP {status}")
    return answer


def _get(project: Project, path: str, token: str) -> tuple[int, bytes]:
    proxy = proxy_to(project.figures_endpoint)
    connection = _connection(project, proxy)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        reply = connection.getresponse()
        return reply.status, reply.read(MOST_BYTES)
    except (OSError, http.client.HTTPException) as error:
        reason = on_the_way(str(error) or type(error).__name__, proxy)
        raise Unavailable(Trouble.UNREACHABLE, reason) from error
    finally:
        connection.close()


def _connection(project: Project, proxy: Proxy | None) -> http.client.HTTPSConnection:
    place = urlsplit(project.figures_endpoint)
    address = place.hostname or "", place.port or http.client.HTTPS_PORT
    first = (proxy.host, proxy.port) if proxy else address
    tls = trusting(project.ca_file)
    connection = http.client.HTTPSConnection(*first, timeout=SECONDS, context=tls)
    if proxy:
        connection.set_tunnel(*address, headers=proxy.headers)
    return connection


def _json(body: bytes) -> Json | None:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return answer if isinstance(answer, dict) else None


def _refusal(status: int, answer: Json) -> Unavailable:
    error = answer.get("error")
    error = error if isinstance(error, dict) else {}
    text = str(error.get("message") or f"HTTP {status}")
    return Unavailable(_trouble(status, json.dumps(error), text), text)


def _trouble(status: int, error: str, message: str) -> Trouble:
    """Map an error answer to a Trouble. The first row that fits wins."""
    switched_off = "SERVICE_DISABLED" in error or "has not been used" in message
    for fits, trouble in (
        (status == 403 and switched_off, Trouble.OFF),
        ("ACCESS_TOKEN_SCOPE_INSUFFICIENT" in error, Trouble.SCOPE),
        (status == 403, Trouble.ROLE),
        (status == 401, Trouble.TOKEN),
        (status in (400, 404), Trouble.APP),
        (status == 429 or status >= 500, Trouble.BUSY),
    ):
        if fits:
            return trouble
    return Trouble.UNREADABLE


def _found(row: Any) -> Found | None:
    """Parse one row of figures. None: we cannot use it, since Google may add new kinds of rows."""
    try:
        day, data = row["date"], row["data"]
        label, accepted = row.get("analyticsLabel", ""), int(data["countMessagesAccepted"])
        percents = {name: value for block in BLOCKS for name, value in data.get(block, {}).items()}
        figures = Found(
            date(day["year"], day["month"], day["day"]), label, accepted, _known_percents(percents)
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return None
    in_order = isinstance(label, str) and len(label) <= LONGEST_LABEL and "\0" not in label
    return figures if in_order and 0 <= accepted < HIGHEST else None


def _known_percents(percents: dict[str, Any]) -> dict[str, float]:
    return {
        name: float(value)
        for name, value in percents.items()
        if name in PERCENTS and type(value) in (int, float) and math.isfinite(value)
    }
