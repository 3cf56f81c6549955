"""An import says whose a phone is, not that anybody saw it; a column of the file may say when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from campaigns.audiences import reach
from notifications.people.device import Device
from notifications.people.device_health import health
from notifications.people.project import Project
from notifications.people.registry import Address, register_one
from tests.given.builders import make_contact, make_device, make_project
from tests.given.importing import bring_in, mapped, reasons, upload

FILE = "id,token,platform\nada,t1,ios\n"
SEEN = "id,token,platform,device_seen_at\n"
OLD = datetime(2025, 1, 1, tzinfo=UTC)


@pytest.fixture
def shop(db: None) -> Project:
    return make_project()


def within_30_days(shop: Project, field: str) -> int:
    rule = {"field": field, "op": "within_last", "value": "P30D"}
    return reach.count(shop.pk, rule).people


def phone(address: str = "t1") -> Device:
    return Device.objects.get(address=address)


@pytest.mark.parametrize("field", ["last_seen_at", "person_seen_at"])
def test_a_phone_that_an_import_brought_was_not_seen_by_that(shop: Project, field: str) -> None:
    bring_in(shop, FILE)
    assert within_30_days(shop, field) == 0
    assert reach.count(shop.pk, {"field": field, "op": "not_exists"}).people == 1
    total: Any = health(shop.pk, timezone.now())["total"]
    assert (total.active, total.seen) == (1, 0)


def test_a_phone_that_an_import_brought_may_be_sent_to_for_as_many_days_as_one_unseen(
    shop: Project,
) -> None:
    bring_in(shop, FILE)
    Project.objects.update(leave_out_unseen_days=30)
    assert reach.count(shop.pk, {"all": []}).devices == 1
    long_ago = timezone.now() - timedelta(days=31)
    Device.objects.update(last_seen_at=long_ago, registered_at=long_ago)
    assert reach.count(shop.pk, {"all": []}).devices == 0


def test_its_app_that_registers_says_it_was_seen(shop: Project) -> None:
    bring_in(shop, FILE)
    register_one(shop, "ada", Address("token", "t1", "ios"), now=timezone.now())
    assert within_30_days(shop, "last_seen_at") == 1


def test_a_column_says_when_each_phone_was_last_seen(shop: Project) -> None:
    now = timezone.now()
    yesterday = (now - timedelta(days=1)).isoformat()
    one = bring_in(shop, f"{SEEN}ada,t1,ios,2025-01-01\nbo,t2,ios,{yesterday}\ncy,t3,ios,\n")
    assert one.refused == 0
    assert phone("t1").last_seen_at == OLD
    assert within_30_days(shop, "last_seen_at") == 1
    assert [phone(name).seen_at is None for name in ("t1", "t2", "t3")] == [False, False, True]


def test_the_column_changes_a_known_phone_only_to_a_later_time(shop: Project) -> None:
    ada = make_contact(shop, external_id="ada")
    make_device(ada, "t1", platform="ios", last_seen_at=OLD, registered_at=OLD)
    assert bring_in(shop, f"{SEEN}ada,t1,ios,2024-05-05\n").counts["unchanged"] == 1
    assert phone().last_seen_at == OLD
    assert bring_in(shop, f"{SEEN}ada,t1,ios,2025-05-05\n").counts["updated"] == 1
    assert phone().last_seen_at == datetime(2025, 5, 5, tzinfo=UTC)
    assert bring_in(shop, FILE).counts["unchanged"] == 1, "without the column it stays"


def test_what_only_an_import_told_gives_way_to_the_time_of_the_column(shop: Project) -> None:
    bring_in(shop, FILE)
    bring_in(shop, f"{SEEN}ada,t1,ios,2025-01-01\n")
    assert phone().last_seen_at == phone().seen_at == OLD


def test_a_time_that_is_none_or_ahead_is_refused(shop: Project) -> None:
    one = bring_in(shop, f"{SEEN}ada,t1,ios,soon\nbo,t2,ios,2999-01-01\ncy,t3,ios,2025-01-01\n")
    why = reasons(one)
    assert "is not a time" in why[2][1] and "give the time when it was last seen" in why[3][1]


def test_the_column_needs_an_address(shop: Project) -> None:
    with pytest.raises(Exception, match="when it was last seen belong to a device"):
        mapped(upload(shop, "id,device_seen_at\nada,2025-01-01\n"))
