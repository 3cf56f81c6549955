"""Bodies that are nearly JSON: what is no value is refused where it stands, by its name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from notifications.people.contact import Contact
from notifications.people.events import reading
from notifications.people.project import Project
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_contact

NO_NUMBER = "is no number that JSON has"
HALF = "half of a character"


def bulk(*rows: str) -> bytes:
    return ('{"contacts": [' + ", ".join(rows) + "]}").encode()


def person(name: str, value: str = "1") -> str:
    return f'{{"external_id": "{name}", "attributes": {{"size": {value}}}}}'


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("NaN", "NaN " + NO_NUMBER),
        ("-Infinity", "-Infinity " + NO_NUMBER),
        (r'"\ud83d"', HALF),
        (r'["fine", {"deep": "\udc00!"}]', HALF),
    ],
)
def test_what_is_no_value_refuses_its_row_and_the_others_are_written(
    alice: Caller, value: str, said: str
) -> None:
    taken = alice.post("contacts/bulk", bulk(person("ada"), person("bob", value), person("cleo")))
    assert taken.status_code == 200, taken.content
    answer = taken.json()
    assert (answer["created"], [row["index"] for row in answer["rejected"]]) == (2, [1])
    assert answer["rejected"][0]["field"].startswith("attributes.size")
    assert said in answer["rejected"][0]["message"]
    assert set(Contact.objects.values_list("external_id", flat=True)) == {"ada", "cleo"}


def test_a_name_given_twice_in_a_row_refuses_that_row_by_the_name(alice: Caller) -> None:
    twice = '{"external_id": "bob", "locale": "ko", "locale": "en"}'
    answer = alice.post("contacts/bulk", bulk(person("ada"), twice)).json()
    said = {"index": 1, "field": "locale", "message": "Is given twice; give it once."}
    assert (answer["created"], answer["rejected"]) == (1, [said])


def test_long_numbers_beside_a_flaw_stay_as_they_came(alice: Caller) -> None:
    long = "123456789012345678901234567890.25"
    alice.post("contacts/bulk", bulk(person("ada", long), person("bob", "NaN")))
    assert long.encode() in alice.get("contacts/ada").content


def test_an_event_that_holds_no_value_is_refused_alone(alice: Caller, ours: Project) -> None:
    ada = make_contact(ours, external_id="ada")
    event = '{"contact": "ada", "name": "bought", "properties": {"price": %s}}'
    body = '{"events": [' + ",".join(event % price for price in ("1", "Infinity", "3")) + "]}"
    answer = alice.post("events", body.encode()).json()
    assert (answer["written"], len(reading.newest_of(ada.pk))) == (2, 2)
    assert [(row["index"], row["field"]) for row in answer["rejected"]] == [(1, "properties.price")]


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_an_id_that_is_half_a_character_is_refused_among_the_members(
    alice: Caller, ours: Project, method: str
) -> None:
    make_contact(ours, external_id="ada")
    made = alice.post("lists", {"name": "Beta"}).json()
    body = rb'{"contacts": ["ada", "\ud800"]}'
    answer = alice(method, f"lists/{made['id']}/members", body).json()
    assert [row["field"] for row in answer["rejected"]] == ["contacts[1]"]
    assert HALF in answer["rejected"][0]["message"]


@pytest.mark.parametrize(
    ("path", "body", "field", "said"),
    [
        ("contacts/ada", rb'{"attributes": {"a": NaN}}', "attributes.a", NO_NUMBER),
        ("contacts/ada", rb'{"attributes": {"a": 1, "a": 2}}', "attributes.a", "given twice"),
        ("contacts/ada", rb'{"attributes": {"a\ud800": 2}}', "attributes.a\ufffd", HALF),
        ("contacts/ada", rb'{"locale": "ko", "locale": "ko"}', "locale", "given twice"),
    ],
)
def test_a_person_with_such_a_value_is_refused_by_its_field(
    alice: Caller, path: str, body: bytes, field: str, said: str
) -> None:
    refused = alice.put(path, body)
    assert refused.status_code == 400
    assert fields_at_fault(refused) == [field]
    assert said in refused.json()["errors"][0]["message"]
    assert not Contact.objects.exists()


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("lists", rb'{"name": "a", "name": "b"}', "name"),
        ("lists", rb'{"name": "\ud800"}', "name"),
        ("audiences/estimate", rb'{"rules": {"all": [{"value": 1e999}]}}', "rules.all[0].value"),
        ("suppressions", rb'{"external_ids": ["ada", "\ud800"]}', "external_ids[1]"),
        ("contacts/bulk", rb'{"contacts": [], "contacts": []}', "contacts"),
        ("categories", rb'{"name": "a", "slug": "a", "slug": "b"}', "slug"),
        ("devices", rb'{"contact": "a", "token": "t", "token": "u"}', "token"),
    ],
)
def test_outside_of_rows_it_refuses_the_call_by_its_field(
    alice: Caller, path: str, body: bytes, field: str
) -> None:
    refused = alice.post(path, body)
    assert (refused.status_code, fields_at_fault(refused)) == (400, [field]), refused.content


def test_values_that_people_must_have_are_refused_if_a_name_is_given_twice(alice: Caller) -> None:
    refused = alice.get('contacts?attributes={"plan":"gold","plan":"pro"}')
    said = {"field": "attributes.plan", "message": "Is given twice; give it once."}
    assert (refused.status_code, refused.json().get("errors")) == (400, [said])


def test_a_text_that_looks_like_names_given_twice_is_taken(alice: Caller) -> None:
    value = json.dumps('{"a": 1, "a": 2}')
    assert alice.put("contacts/ada", {"attributes": {"said": value}}).status_code == 201
    assert Contact.objects.get().attributes == {"said": value}


@pytest.mark.parametrize("body", [b"{", b"\xff", b"[" * 9_999, b'{"a": tru}', b"", b"NaNa"])
def test_what_is_no_json_at_all_is_told_so(alice: Caller, body: bytes) -> None:
    refused = alice.post("contacts/bulk", body)
    assert refused.status_code == 400
    assert refused.json()["errors"] or "JSON" in refused.json()["detail"]


@pytest.mark.parametrize("wrong", [7, 7.5, True, None, ["7"]])
def test_an_id_that_is_no_text_is_refused_with_what_to_give(alice: Caller, wrong: Any) -> None:
    answer = alice.post("contacts/bulk", {"contacts": [{"external_id": wrong}]}).json()
    assert answer["rejected"][0]["field"] == "external_id"
    assert "text" in answer["rejected"][0]["message"]
    if wrong == 7:
        assert '"7"' in answer["rejected"][0]["message"]
    assert not Contact.objects.exists()


def test_of_many_rows_with_a_flaw_each_is_refused(alice: Caller) -> None:
    rows = [person(f"u{number}", "NaN" if number % 2 else "1") for number in range(60)]
    answer = alice.post("contacts/bulk", bulk(*rows)).json()
    assert answer["created"] == 30
    assert [row["index"] for row in answer["rejected"]] == list(range(1, 60, 2))


def test_a_text_that_begins_with_a_colon_is_taken(alice: Caller) -> None:
    long = "12345678901234567890.125"
    body = f'{{"attributes": {{"a": ":b", "c": {long}}}}}'.encode()
    assert alice.put("contacts/ada", body).status_code == 201
    assert long.encode() in alice.get("contacts/ada").content


def test_a_flaw_at_the_top_refuses_the_call_also_beside_flawed_rows(alice: Caller) -> None:
    body = b'{"contacts": [{"external_id": NaN}], "x": Infinity, "x": 1}'
    assert fields_at_fault(alice.post("contacts/bulk", body)) == ["x"]


def test_a_call_with_a_flawed_row_is_answered_again_under_its_key(alice: Caller) -> None:
    body = bulk(person("ada"), person("bob", "NaN"), r'{"external_id": "\ud800"}')
    first, again = (alice.post("contacts/bulk", body, Idempotency_Key="k") for _ in range(2))
    assert first.json() == again.json() and first.json()["created"] == 1
    assert again["Idempotent-Replayed"] == "true"
    other = alice.post("contacts/bulk", bulk(person("cleo")), Idempotency_Key="k")
    assert other.status_code == 422
