"""Automations through the API: defined, turned on, answered, counted, paused and archived."""

from __future__ import annotations

from typing import Any

import pytest

from campaigns.triggers.automation import Automation
from notifications.people.consent.category import Category
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import (
    make_automation,
    make_contact,
    make_device,
    make_project,
    make_template,
)
from tests.servers.fcm import Fcm
from tests.triggers.doing import did, tell, work

CART: dict[str, Any] = {
    "name": "Forgotten cart",
    "event": {
        "name": "added_to_cart", "where": [{"property": "price", "op": "gte", "value": 10}]
    },
    "unless": {"name": "bought", "where": []},
    "delay": "PT1H30M",
    "once_in": "P1D",
}  # fmt: skip


@pytest.fixture
def call(project: Project) -> Caller:
    make_device(make_contact(project, external_id="ada"), "live-ada:APA91b")
    make_contact(project, external_id="bob")
    return Caller(project)


@pytest.fixture
def cart(project: Project) -> dict[str, Any]:
    return {**CART, "template": make_template(project, title="Still there?").pk}


def test_an_automation_is_defined_turned_on_and_counted(
    call: Caller, fcm: Fcm, cart: dict[str, Any]
) -> None:
    made = call.post("automations", {**cart, "delay": "PT0S", "unless": None})
    assert (made.status_code, made.json()["state"]) == (201, "draft")
    address = f"automations/{made.json()['id']}"
    tell(call, did("ada", properties={"price": 20}))  # nobody listens yet

    assert call.post(f"{address}/on").json()["state"] == "on"
    priced: dict[str, Any] = {"properties": {"price": 20}}
    tell(call, did("ada", **priced), did("ada", **priced), did("bob", **priced), did("bob"))
    work()

    shown = call.get(address).json()
    assert shown["counts"] == {
        "events": 3, "waiting": 0, "sent": 2, "not_sent": {"within_window": 1}
    }  # fmt: skip
    assert shown["outcomes"] == {
        "messages": 2, "accepted": 1, "rejected": 0, "skipped": 0, "unknown": 0, "waiting": 0,
        "no_device": 1, "cancelled": 0, "reasons": {},
    }  # fmt: skip
    assert [one["address"] for one in fcm.witness()] == ["live-ada:APA91b"]

    assert call.post(f"{address}/pause").json()["state"] == "paused"
    assert call.post(f"{address}/archive").json()["state"] == "archived"
    assert call.post(f"{address}/on").status_code == 409


def test_what_was_written_is_what_is_read(
    call: Caller, project: Project, cart: dict[str, Any]
) -> None:
    offers = Category.objects.create(project=project, name="Offers", slug="offers")
    made = call.post("automations", {**cart, "category": offers.pk}).json()
    assert {name: made[name] for name in cart} == cart
    read = call.get(f"automations/{made['id']}").json()
    assert {name: read[name] for name in made} == made
    (listed,) = call.get("automations").json()["results"]
    assert listed == made
    assert (read["counts"]["events"], read["outcomes"]["messages"]) == (0, 0)


def test_what_is_left_out_has_a_sensible_default(call: Caller, project: Project) -> None:
    least = {"name": "x", "event": {"name": "bought"}, "template": make_template(project).pk}
    made = call.post("automations", least).json()
    assert (made["delay"], made["once_in"], made["unless"], made["category"]) == (
        "PT0S", "P1D", None, None
    )  # fmt: skip


def test_parts_are_changed_and_the_rest_stays(call: Caller, cart: dict[str, Any]) -> None:
    address = f"automations/{call.post('automations', cart).json()['id']}"
    changed = call.patch(address, {"unless": None, "delay": "P28D"}).json()
    assert (changed["unless"], changed["delay"]) == (None, "P28D")
    assert changed["event"] == cart["event"]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"name": "  "}, "name"),
        ({"event": {"name": "no\ttab"}}, "event.name"),
        ({"event": {}}, "event.name"),
        ({"event": {"name": "x", "where": [{"property": "p", "op": "like"}]}}, "event.where"),
        ({"event": {"name": "x", "where": [{}] * 6}}, "event.where"),
        ({"unless": {"name": ""}}, "unless.name"),
        ({"unless": {"name": "x", "where": [{"op": "eq"}]}}, "unless.where"),
        ({"delay": "P29D"}, "delay"),
        ({"delay": "soon"}, "delay"),
        ({"delay": "P1M"}, "delay"),
        ({"once_in": "P366D"}, "once_in"),
        ({"template": 999_999_999}, "template"),
        ({"category": 999_999_999}, "category"),
        ({"audience": 1}, "audience"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_kept(
    call: Caller, cart: dict[str, Any], wrong: dict[str, Any], field: str
) -> None:
    answer = call.post("automations", {**cart, **wrong})
    assert answer.status_code == 400
    assert fields_at_fault(answer)[0].startswith(field)
    assert not Automation.objects.exists()


def test_a_duration_that_is_none_is_told_how_to_write_one(
    call: Caller, cart: dict[str, Any]
) -> None:
    (error,) = call.post("automations", {**cart, "delay": "1h"}).json()["errors"]
    assert error["message"] == "Must be an ISO 8601 duration, e.g. P30D or PT12H."


def test_what_it_does_is_changed_in_a_pause_only_and_its_name_at_any_time(
    call: Caller, cart: dict[str, Any]
) -> None:
    address = f"automations/{call.post('automations', cart).json()['id']}"
    call.post(f"{address}/on")
    refused = call.patch(address, {"delay": "PT5M"})
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:carillon:held")
    assert call.patch(address, {"name": "Cart"}).json()["state"] == "on"
    call.post(f"{address}/pause")
    assert call.patch(address, {"delay": "PT5M"}).json()["delay"] == "PT5M"


def test_a_draft_is_deleted_and_one_that_was_on_is_not(call: Caller, cart: dict[str, Any]) -> None:
    address = f"automations/{call.post('automations', cart).json()['id']}"
    call.post(f"{address}/on")
    assert call.delete(address).status_code == 409
    draft = f"automations/{call.post('automations', cart).json()['id']}"
    assert call.delete(draft).status_code == 204
    assert Automation.objects.count() == 1


def test_its_template_and_category_are_kept_as_long_as_it_is(
    call: Caller, project: Project, cart: dict[str, Any]
) -> None:
    offers = Category.objects.create(project=project, name="Offers", slug="offers")
    call.post("automations", {**cart, "category": offers.pk})
    assert call.delete(f"templates/{cart['template']}").status_code == 409
    assert call.delete(f"categories/{offers.pk}").status_code == 409


def test_an_automation_that_is_not_ready_says_why(call: Caller, project: Project) -> None:
    automation = make_automation(project, on=False)
    automation.template.__class__.objects.update(title="", body="")
    answer = call.post(f"automations/{automation.pk}/on")
    assert (answer.status_code, fields_at_fault(answer)) == (422, ["template"])


def test_who_saw_an_older_one_changes_nothing_and_counts_are_no_change(
    call: Caller, cart: dict[str, Any]
) -> None:
    address = f"automations/{call.post('automations', cart).json()['id']}"
    call.post(f"{address}/on")
    seen = call.get(address)["ETag"]
    tell(call, did("ada", properties={"price": 20}))
    assert call.get(address).json()["counts"]["waiting"] == 1
    assert call.patch(address, {"name": "Mine"}, If_Match=seen).status_code == 200
    assert call.patch(address, {"name": "Yours"}, If_Match=seen).status_code == 412


def test_reading_and_writing_need_the_scope_of_runs_and_turning_on_that_of_launching(
    project: Project, cart: dict[str, Any]
) -> None:
    writer, sender = Caller(project, ["runs"]), Caller(project, ["launch"])
    address = f"automations/{writer.post('automations', cart).json()['id']}"
    assert sender.get(address).status_code == 403
    assert writer.post(f"{address}/on").status_code == 403
    assert sender.post(f"{address}/on").status_code == 200
    assert writer.post(f"{address}/pause").status_code == 403
    assert sender.post(f"{address}/pause").status_code == 200


def test_another_projects_automation_does_not_exist(
    call: Caller, project: Project, cart: dict[str, Any]
) -> None:
    address = f"automations/{call.post('automations', cart).json()['id']}"
    charlie = Caller(make_project())
    assert charlie.get(address).status_code == 404
    assert charlie.post(f"{address}/on").status_code == 404
    assert charlie.get("automations").json()["results"] == []


def test_each_step_leaves_an_entry_in_the_trail(call: Caller, cart: dict[str, Any]) -> None:
    address = f"automations/{call.post('automations', cart).json()['id']}"
    call.patch(address, {"delay": "PT2H"})
    for verb in ("on", "pause", "archive"):
        call.post(f"{address}/{verb}")
    rows = AuditEntry.objects.filter(subject_kind="automation").order_by("pk")
    assert list(rows.values_list("action", "changes")) == [
        ("created", {}),
        ("changed", {"delay_seconds": [5_400, 7_200]}),
        ("turned on", {}),
        ("paused", {}),
        ("archived", {}),
    ]
