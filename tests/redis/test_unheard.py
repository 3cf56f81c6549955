"""Workers live as long as the session, and work for those tests alone that ask for them."""

from __future__ import annotations

import pytest
import redis
from django.conf import LazySettings

from campaigns.tasks import sweep
from tests.given.waiting import eventually
from tests.servers.workers import Workers, unheard


def rung(address: str) -> int:
    with redis.Redis.from_url(address) as broker:
        return sum(int(broker.llen(key)) for key in broker.scan_iter("control*"))  # by urgency


def test_who_asks_for_no_workers_rings_where_nobody_listens(settings: LazySettings) -> None:
    before = rung(unheard())
    sweep.delay()
    assert rung(unheard()) == before + 1
    assert unheard() == settings.BROKER_URL


@pytest.mark.django_db(transaction=True)
def test_who_asks_for_workers_rings_them(workers: Workers, settings: LazySettings) -> None:
    before = rung(unheard())
    done = f"[{sweep.delay().id}] succeeded"
    eventually("they do it", lambda: done in workers.log("control"))
    assert workers.broker == settings.BROKER_URL
    assert rung(unheard()) == before


def test_who_comes_after_one_that_asked_rings_there_again() -> None:
    before = rung(unheard())
    sweep.delay()
    assert rung(unheard()) == before + 1
