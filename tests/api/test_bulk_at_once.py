"""Programs that bring the same people and devices at the same moment wait for each other."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections, transaction
from django.utils import timezone

from notifications.people.contact import Contact
from notifications.people.device import Device, retire
from tests.api.caller import Caller
from tests.given.builders import make_project


@pytest.mark.django_db(transaction=True)
def test_the_same_people_in_any_order_from_many_programs_at_once() -> None:
    alice = Caller(make_project())
    dice = random.Random(7)

    def bring(number: int) -> int:
        group, order = number // 6, list(range(150))  # six calls for the same new people
        dice.shuffle(order)
        people = [
            {
                "external_id": f"{group}-{n}",
                "attributes": {"by": number},
                "devices": [{"token": f"{group}-{(n + number) % 150}", "platform": "web"}],
            }
            for n in order
        ]
        return _closing(lambda: alice.post("contacts/bulk", {"contacts": people}).status_code)

    def bury(_: int) -> int:
        ids, now = Device.objects.order_by("?").values_list("pk", flat=True), timezone.now()

        def in_one_transaction() -> int:
            with transaction.atomic():
                retire(ids, reason="unregistered", sent_at=now, now=now)
            return 200

        return _closing(in_one_transaction)

    with ThreadPoolExecutor(8) as threads:
        brought = [threads.submit(bring if n % 3 else bury, n) for n in range(30)]
        assert {answer.result(60) for answer in brought} == {200}
    assert Contact.objects.count() == 5 * 150
    assert Device.objects.count() == 5 * 150


def _closing(work: Callable[[], int]) -> int:
    try:
        return work()
    finally:
        connections.close_all()
