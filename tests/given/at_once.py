"""Two who change the same row at once: the second comes before the first has committed."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.db import connection, transaction

from tests.given.waiting import eventually, somebody_waits


def at_once(*, first: Callable[[], Any], second: Callable[[], Any]) -> Any:
    """What the second is answered."""
    with ThreadPoolExecutor(1) as elsewhere:
        with transaction.atomic():
            first()
            answer = elsewhere.submit(_in_a_thread, second)
            eventually("the second waits for the first", somebody_waits)
        return answer.result(30)


def _in_a_thread(act: Callable[[], Any]) -> Any:
    try:
        return act()
    finally:
        connection.close()
