"""Ids, cursors and limits of every sort in an address: read as they are meant, or refused."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from notifications.people.consent.category import Category
from notifications.people.consent.suppression import Suppression
from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_audience, make_contact, make_device, make_run

ODD = [
    "u/1",
    "a//b",
    "/u1",
    "u1/",
    "...",
    "a..b",
    "u.1",
    "é 한 🔔",
    "a%2Fb",
    "%",
    "a?b#c",
    "+",
    "-",
    "x" * 200,
]
LISTS = ["contacts", "categories", "suppressions", "lists", "deliveries?contact=ada", "audiences",
         "templates", "campaigns", "runs"]  # fmt: skip
LIMITS = ["0", "-1", "1e9", "501", "x", "", "9" * 400, "٣", "1.0", " 5"]
CURSORS = ["", "1", "x:y", "1:abcdef", "\x00", "9" * 2_000]


@pytest.mark.parametrize("name", ODD)
def test_a_person_of_any_id_is_reached_at_every_address(
    alice: Caller, ours: Project, name: str
) -> None:
    there = quote(name, safe="")
    assert alice.put(f"contacts/{there}", {"locale": "ko"}).status_code == 201
    assert Contact.objects.get().external_id == name
    assert alice.get(f"contacts/{there}").json()["external_id"] == name
    assert alice.get(f"deliveries?contact={there}").json() == {"results": [], "next": None}
    exported = alice.get(f"export?contact={there}")
    assert name in json.loads(exported.getvalue())["contact"]["external_id"]
    event = {"contact": name, "name": "bought"}
    assert alice.post("events", {"events": [event]}).json()["written"] == 1
    device = {"contact": name, "token": "phone", "platform": "ios"}
    assert alice.post("devices", device).json()["contact"] == name
    made = alice.post("lists", {"name": "Beta"}).json()
    assert alice.post(f"lists/{made['id']}/members", {"contacts": [name]}).json()["added"] == 1
    alice.post("suppressions", {"external_ids": [name]})
    assert Suppression.objects.get().external_id == name
    assert alice.delete(f"suppressions/{there}").status_code == 204
    assert alice.delete(f"contacts/{there}").status_code == 204
    assert not Contact.objects.exists()


@pytest.mark.parametrize(
    "name", ["x" * 201, "x" * 255, ".", "..", "a/../b", "a\nb", "bulk", "a\x7f"]
)
def test_an_id_that_no_address_could_name_is_refused_everywhere(
    alice: Caller, ours: Project, name: str
) -> None:
    row = {"external_id": name}
    assert alice.post("contacts/bulk", {"contacts": [row]}).json()["rejected"][0]["index"] == 0
    made = alice.post("suppressions", {"external_ids": [name]})
    assert fields_at_fault(made) == ["external_ids[0]"]
    event = {"contact": name, "name": "bought"}
    assert [
        one["field"] for one in alice.post("events", {"events": [event]}).json()["rejected"]
    ] == ["contact"]
    device = {"contact": name, "token": "phone", "platform": "ios"}
    assert fields_at_fault(alice.post("devices", device)) == ["contact"]
    assert not Contact.objects.exists() and not Suppression.objects.exists()


def test_a_limit_or_cursor_that_is_none_is_refused_by_its_name(
    alice: Caller, ours: Project
) -> None:
    make_contact(ours, external_id="ada")
    for path in LISTS:
        for name, wrong in (("limit", LIMITS), ("cursor", CURSORS)):
            for value in wrong:
                refused = alice.get(f"{path}{'&' if '?' in path else '?'}{name}={quote(value)}")
                assert (refused.status_code, fields_at_fault(refused)) == (400, [name]), value


def test_a_cursor_of_another_list_or_project_opens_nothing(
    alice: Caller, charlie: Caller, ours: Project
) -> None:
    for name in ("a", "b"):
        Category.objects.create(project=ours, name=name, slug=name)
    cursor = alice.get("categories?limit=1").json()["next"].partition("cursor=")[2]
    assert fields_at_fault(alice.get(f"contacts?cursor={cursor}")) == ["cursor"]
    assert charlie.get(f"categories?cursor={cursor}").json()["results"] == []


def test_a_number_beyond_what_a_row_can_have_is_nobody(alice: Caller, ours: Project) -> None:
    for room in ("categories", "lists", "audiences", "runs", "campaigns", "templates"):
        for number in (10**18, 2**63, 10**40):
            assert alice.get(f"{room}/{number}").status_code == 404, (room, number)


def test_another_projects_rows_are_as_if_there_were_none(
    alice: Caller, charlie: Caller, ours: Project
) -> None:
    ada = make_contact(ours, external_id="ada")
    make_device(ada, "phone")
    offers = Category.objects.create(project=ours, name="Offers", slug="offers")
    made = alice.post("lists", {"name": "Beta"}).json()
    alice.post("suppressions", {"external_ids": ["ada"]})
    run = make_run(ours)
    gone = {
        ("GET", f"categories/{offers.pk}"), ("DELETE", f"categories/{offers.pk}"),
        ("GET", f"lists/{made['id']}"), ("DELETE", f"lists/{made['id']}"),
        ("DELETE", "suppressions/ada"), ("DELETE", "devices/phone"), ("GET", "contacts/ada"),
        ("DELETE", "contacts/ada"), ("GET", f"runs/{run.pk}/deliveries"),
        ("GET", f"runs/{run.pk}/deliveries.csv"), ("GET", f"audiences/{make_audience(ours).pk}"),
    }  # fmt: skip
    for method, path in gone:
        assert charlie(method, path).status_code == 404, (method, path)
    for path in ("export?contact=ada", "deliveries?contact=ada"):
        assert fields_at_fault(charlie.get(path)) == ["contact"]
    members = charlie.post(f"lists/{made['id']}/members", {"contacts": ["ada"]})
    assert members.status_code == 404
    event = {"events": [{"contact": "ada", "name": "bought"}]}
    assert charlie.post("events", event).json()["written"] == 0
    mine = charlie.post("lists", {"name": "Theirs"}).json()
    told = charlie.post(f"lists/{mine['id']}/members", {"contacts": ["ada"]}).json()
    assert (told["added"], len(told["rejected"])) == (0, 1)
    device = {"contact": "ada", "token": "phone", "platform": "ios"}
    assert fields_at_fault(charlie.post("devices", device)) == ["contact"]
    assert Contact.objects.get().pk == ada.pk and Category.objects.get().name == "Offers"
    assert Suppression.objects.get().project == ours
