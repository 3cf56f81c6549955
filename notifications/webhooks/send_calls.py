"""Sending: unpacks the outbox and makes calls, many at a time, for as long as one task may run.

Threads only talk to receivers; all that touches PostgreSQL stays in the worker's main thread. A
slow receiver holds a few of the threads, and never the others' calls.
"""

from __future__ import annotations

import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from notifications.postgres import clock
from notifications.postgres.outage import retry_during_outage
from notifications.webhooks import claiming, composing, unpacking
from notifications.webhooks.call import Call
from notifications.webhooks.claiming import Tried
from notifications.webhooks.transports.https_post import Answer

THREADS = 64
LOOK_AGAIN = 0.25  # seconds, while something is under way
IDLE_FOR = 1.2  # seconds without anything due; then the sweep or a doorbell calls again

Flying = dict[Future[Answer], Call]


def work(*, seconds: float) -> bool:
    """Send calls for so many seconds. Returns whether there is more to do at once.

    If the process dies here: what was under way is due again after `claiming.UNDER_WAY`.
    """
    ends_at = time.monotonic() + seconds
    idle_since = time.monotonic()
    flying: Flying = {}
    with ThreadPoolExecutor(THREADS) as threads:
        while time.monotonic() < ends_at:
            unpacked = retry_during_outage(lambda: unpacking.unpack(now=clock.now()))
            started = _start(threads, flying)
            landed = _land(flying, LOOK_AGAIN)
            if flying or unpacked or started or landed:
                idle_since = time.monotonic()
            elif time.monotonic() - idle_since > IDLE_FOR:
                return False
            else:
                time.sleep(LOOK_AGAIN)
        while flying:
            _land(flying, None)
    return claiming.waiting(clock.now())


def _start(threads: ThreadPoolExecutor, flying: Flying) -> int:
    under_way = list(flying.values())
    room = THREADS - len(flying)
    now = clock.now()
    calls = retry_during_outage(lambda: claiming.claim(now=now, room=room, under_way=under_way))
    for call in calls:
        flying[threads.submit(composing.prepare_send(call, now=now))] = call
    return len(calls)


def _land(flying: Flying, seconds: float | None) -> int:
    if not flying:
        return 0
    done, _ = wait(flying, timeout=seconds, return_when=FIRST_COMPLETED)
    tried = [Tried(flying.pop(future), future.result()) for future in done]
    if tried:
        retry_during_outage(lambda: claiming.settle(tried, now=clock.now()))
    return len(tried)
