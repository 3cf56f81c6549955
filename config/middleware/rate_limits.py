"""Rate limits: per API key, per person's own app, per address, and for visitors without a log-in.

Valkey keeps the counts, so that all web processes on all machines share each limit. The limits
protect against floods. Without Valkey requests pass, and for some seconds no process asks it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha1, sha256
from http import HTTPStatus
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import redis
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError
from redis.retry import Retry
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from notifications.api.base import authentication, problems
from notifications.keys.inbox_token import TokenOwner
from notifications.requests.origin import address_of, neighbourhood

if TYPE_CHECKING:  # it imports this module, for its default settings
    from rest_framework.views import APIView

SCRIPT = Path(__file__).with_suffix(".lua").read_text()
NAME = sha1(SCRIPT.encode()).hexdigest()  # the script's name in Valkey
BURST = 2  # seconds of a program's rate that may come at once
PAGE_BURST = 10  # the same for a visitor: a page and all its files
PATIENCE = 0.5  # seconds for an answer
AWAY_SECONDS = 5.0  # without asking, after Valkey did not answer
# A key of the WSGI environment, which no header can set: what was already taken for the request.
TAKEN = "carillon.taken"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Limit:
    """A limit of `rate` requests per second for one key, address or person."""

    name: str
    rate: int
    whose: str

    @property
    def key(self) -> str:
        """The limit's name in Valkey: hashed, so that it shows no address and no API key."""
        return f"rate:{self.name}:{sha256(self.whose.encode()).hexdigest()[:32]}"


@dataclass(frozen=True)
class Taken:
    """The result of counting one request.

    `wait`: seconds until it would pass. `left`: for each limit, how many requests are left, and the
    seconds until all are there again; empty when Valkey did not answer.
    """

    wait: float = 0.0
    left: tuple[tuple[int, int], ...] = ()


class Outage:
    """Whether Valkey is away, as this process knows it."""

    is_there = False
    ask_at = 0.0


@dataclass(frozen=True)
class Limits:
    """The limits that one request counts against."""

    limits: tuple[Limit, ...]
    burst: int = BURST

    def take(self) -> Taken:
        (taken,) = take_each([self])
        return taken

    def tell(self, response: HttpResponse, taken: Taken) -> HttpResponse:
        for name, value in self.headers(taken).items():
            response[name] = value
        return response

    def headers(self, taken: Taken) -> dict[str, str]:
        """The headers of draft-ietf-httpapi-ratelimit-headers."""
        headers = {}
        if self.limits:
            headers["RateLimit-Policy"] = ", ".join(
                f'"{limit.name}";q={limit.rate * self.burst};w={self.burst}'
                for limit in self.limits
            )
        if taken.left:
            headers["RateLimit"] = ", ".join(
                f'"{limit.name}";r={left};t={seconds}'
                for limit, (left, seconds) in zip(self.limits, taken.left, strict=True)
            )
        return headers

    def spent(self, taken: Taken) -> Limit:
        """The limit that refuses: the one with the least left."""
        least = min(range(len(self.limits)), key=lambda number: taken.left[number][0])
        return self.limits[least]


def take_each(each_limits: Sequence[Limits]) -> list[Taken]:
    """Count each request against its limits, in their order and in one round trip."""
    counted = [limits for limits in each_limits if limits.limits]
    if not counted or not _may_ask():
        return [Taken() for _ in each_limits]
    try:
        answers = iter(_count_in_valkey(counted))
    except redis.RedisError as error:
        _note_outage(error)
        return [Taken() for _ in each_limits]
    Outage.is_there = False
    return [_parse_answer(next(answers)) if limits.limits else Taken() for limits in each_limits]


def _parse_answer(answer: list[Any]) -> Taken:
    wait, *left = answer
    return Taken(float(wait), tuple(zip(left[::2], left[1::2], strict=True)))


def limits_of_a_program(request: HttpRequest) -> Limits:
    """Limits of an API call: by its address, and by the key it shows.

    The key may be invalid: nothing is looked up before the count.
    """
    _, credential = authentication.split_header(request.headers.get("Authorization", ""))
    key = Limit("key", settings.API_RATE_PER_KEY if credential else 0, credential)
    address = Limit("address", settings.API_RATE_PER_ADDRESS, _neighbourhood_of(request))
    return Limits(tuple(limit for limit in (key, address) if limit.rate))


def limits_of_a_visitor(request: HttpRequest) -> Limits:
    page = Limit("page", settings.PAGE_RATE_PER_ADDRESS, _neighbourhood_of(request))
    return Limits((page,) if page.rate else (), PAGE_BURST)


def _neighbourhood_of(request: HttpRequest) -> str:
    return neighbourhood(address_of(request))


GetResponse = Callable[[HttpRequest], HttpResponse]


class Programs:
    """Middleware: limits API calls, before anything that costs much."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not is_a_programs(request):
            return self.get_response(request)
        limits = limits_of_a_program(request)
        taken = request.META.get(TAKEN) or limits.take()
        refused = _refusal(limits.spent(taken), taken.wait) if taken.wait else None
        return limits.tell(refused or self.get_response(request), taken)


class Visitors:
    """Middleware: limits pages without a log-in.

    It runs after the session: anybody can send a cookie.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if is_a_programs(request) or request.user.is_authenticated:
            return self.get_response(request)
        taken = limits_of_a_visitor(request).take()
        if not taken.wait:
            return self.get_response(request)
        response = render(request, "429.html", status=HTTPStatus.TOO_MANY_REQUESTS)
        response["Retry-After"] = str(ceil(taken.wait))
        return response


class OnePerson(BaseThrottle):
    """Limits all calls with the inbox tokens of one person, once a token is known to be valid.

    So no other caller can use up a person's limit.
    """

    def allow_request(self, request: Request, view: APIView) -> bool:
        owner, rate = request.auth, settings.API_RATE_PER_PERSON
        if not isinstance(owner, TokenOwner) or not rate:
            return True
        limit = Limit("person", rate, f"{owner.project.pk}:{owner.external_id}")
        if wait := Limits((limit,)).take().wait:
            raise _problem(limit, wait)
        return True


def is_a_programs(request: HttpRequest) -> bool:
    return request.path == "/api" or request.path.startswith("/api/")


WHOSE = {"key": "with this API key", "address": "from this address", "person": "for this person"}


def _refusal(limit: Limit, wait: float) -> HttpResponse:
    return problems.outside(_problem(limit, wait))


def _problem(limit: Limit, wait: float) -> problems.Problem:
    scope, seconds = WHOSE[limit.name], ceil(wait)
    return problems.Problem(
        HTTPStatus.TOO_MANY_REQUESTS,
        f"At most {limit.rate:,} a second {scope}. Nothing was done. Try again in {seconds} s.",
        kind="too-many-requests",
        retry_after=seconds,
    )


# --- Valkey ---------------------------------------------------------------------------------------


def clock() -> str:
    """The time for the script; empty: Valkey's own clock, the same for all processes.

    Only tests set it.
    """
    return ""


@cache
def valkey() -> redis.Redis:
    return redis.Redis.from_url(
        settings.REDIS_DATABASES["cache"],
        socket_timeout=PATIENCE,
        socket_connect_timeout=PATIENCE,
        retry=Retry(NoBackoff(), 0),
    )


def _count_in_valkey(requests: Sequence[Limits]) -> list[Any]:
    """Run the script for each request, and load it into Valkey if it is missing.

    A restarted Valkey has forgotten the script, and so has run it for none of the requests.
    """
    try:
        return _sent(requests)
    except NoScriptError:
        valkey().script_load(SCRIPT)
        return _sent(requests)


def _sent(requests: Sequence[Limits]) -> list[Any]:
    now = clock()
    pipeline = valkey().pipeline(transaction=False)
    for limits in requests:
        keys = [limit.key for limit in limits.limits]
        rates = [limit.rate for limit in limits.limits]
        pipeline.evalsha(NAME, len(keys), *keys, limits.burst, now, *rates)
    return pipeline.execute()


def _may_ask() -> bool:
    """While Valkey is away, one request in some seconds tries it, and the others pass."""
    now = time.monotonic()
    if Outage.is_there and now < Outage.ask_at:
        return False
    Outage.ask_at = now + AWAY_SECONDS
    return True


def _note_outage(error: redis.RedisError) -> None:
    if not Outage.is_there:
        log.warning("no rate limits while Valkey does not answer: %s", error)
    Outage.is_there, Outage.ask_at = True, time.monotonic() + AWAY_SECONDS
