"""Twenty operators who look at pages, and an app that calls the API a hundred times a second.

The operators wait for a page, read it for a second or two and go on. The app does not wait: a slow
server meets the next call all the same.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from bench.planning.pages import PATHS

OPERATORS = 20
CALLS_PER_SECOND = 100
TIMEOUT = aiohttp.ClientTimeout(total=30)


@dataclass
class Watched:
    """The run that is under way, whose page everybody keeps looking at."""

    paths: tuple[str, ...] = ()


@dataclass
class Seen:
    """How long answers took, and what went wrong."""

    began: float = field(default_factory=time.monotonic)
    took: list[float] = field(default_factory=list)
    errors: int = 0
    first_error: str = ""

    @contextmanager
    def one(self) -> Iterator[None]:
        started = time.monotonic()
        try:
            yield
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            self.errors += 1
            self.first_error = self.first_error or repr(error)[:300]
        else:
            self.took.append(time.monotonic() - started)

    def told(self) -> dict[str, Any]:
        p95 = statistics.quantiles(self.took, n=20)[-1] if len(self.took) > 1 else 0.0
        return {
            "count": len(self.took),
            "per_second": len(self.took) / (time.monotonic() - self.began),
            "median_ms": statistics.median(self.took or [0.0]) * 1000,
            "p95_ms": p95 * 1000,
            "errors": self.errors,
            "first_error": self.first_error,
        }


async def main(url: str, key: str) -> None:
    operators = [await _logged_in(url) for _ in range(OPERATORS)]
    app = aiohttp.ClientSession(headers={"Authorization": f"Bearer {key}"}, timeout=TIMEOUT)
    print("ready", flush=True)
    pages, calls, watched = Seen(), Seen(), Watched()
    cpu, began = time.process_time(), time.monotonic()
    busy = [asyncio.create_task(_browse(each, url, watched, pages)) for each in operators]
    busy.append(asyncio.create_task(_follow(app, f"{url}/api/v1/runs", watched)))
    busy.append(asyncio.create_task(_call(app, f"{url}/api/v1/", calls)))
    await asyncio.to_thread(sys.stdin.read)  # until we are told to leave
    for task in busy:
        task.cancel()
    await asyncio.gather(*busy, return_exceptions=True)
    for session in (*operators, app):
        await session.close()
    told = {"pages": pages.told(), "calls": calls.told()}
    cores = (time.process_time() - cpu) / (time.monotonic() - began)
    print(json.dumps({**told, "cores": cores}), flush=True)


async def _logged_in(url: str) -> aiohttp.ClientSession:
    session = aiohttp.ClientSession(timeout=TIMEOUT, cookie_jar=aiohttp.CookieJar(unsafe=True))
    login = f"{url}/admin/login/"
    async with session.get(login) as page:
        await page.read()
    token = next(cookie.value for cookie in session.cookie_jar if cookie.key == "csrftoken")
    form = {"username": "admin", "password": os.environ["ADMIN_PASSWORD"]}
    form["csrfmiddlewaretoken"] = token
    async with session.post(login, data=form, headers={"Referer": login}) as page:
        if "login" in str(page.url):
            raise SystemExit("The operator was not let in.")
    return session


async def _follow(app: aiohttp.ClientSession, runs: str, watched: Watched) -> None:
    while True:
        async with app.get(runs) as reply:
            newest = (await reply.json())["results"][:1]
        if newest:
            run = f"/admin/campaigns/run/{newest[0]['id']}"
            # As its page asks: what it has shown already is not sent again.
            live = f"{run}/live/?seen={newest[0]['state']}-0"
            watched.paths = (f"{run}/change/", live, f"{run}/course/")
        await asyncio.sleep(2)


async def _browse(session: aiohttp.ClientSession, url: str, watched: Watched, seen: Seen) -> None:
    await asyncio.sleep(random.uniform(0, 2))  # not all in the same moment
    while True:
        path = random.choice([*PATHS.values(), *watched.paths])
        with seen.one():
            async with session.get(url + path, raise_for_status=True) as page:
                await page.read()
        await asyncio.sleep(random.uniform(1, 2))


async def _call(app: aiohttp.ClientSession, api: str, seen: Seen) -> None:
    """Two reads, then one write: a person's own page of the app says what changed."""
    under_way: set[asyncio.Task[None]] = set()
    started = time.monotonic()
    for number in itertools.count():
        task = asyncio.create_task(_one_call(app, api, number, seen))
        under_way.add(task)
        task.add_done_callback(under_way.discard)
        await asyncio.sleep(max(0.0, started + (number + 1) / CALLS_PER_SECOND - time.monotonic()))


async def _one_call(app: aiohttp.ClientSession, api: str, number: int, seen: Seen) -> None:
    person = f"{api}contacts/b{1 + number % 5_000}"
    with seen.one():
        if number % 3:
            request = app.get(person, raise_for_status=True)
        else:
            changed = {"attributes": {"points": number, "first_name": "Kim", "city": "Boston"}}
            request = app.put(person, json=changed, raise_for_status=True)
        async with request as reply:
            await reply.read()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
