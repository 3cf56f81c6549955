"""A number an app sends stays as it came: in the row, in a text, and back out of the API."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from django.db import connection

from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.api.caller import Caller
from tests.given.builders import make_contact, make_device, make_template

LONG = [
    *("12345678901234567890123", "-9223372036854775809", "18446744073709551616"),
    *("0.1234567890123456789012345", "123456789012345678.5", "1e400", "-1e-400", "1" * 1_000),
]
SHORT = ["0", "-1", "0.1", "1.5e3", "18446744073709551615", "9007199254740993", "0e123456"]
TOO_LONG = ["1" * 1_001, "9" * 5_000, "1e1000", "1e-1001", "-1e99999999999999999999"]


def body(attributes: str) -> bytes:
    """As it stands: no library between the digits and the wire."""
    return f'{{"attributes": {attributes}}}'.encode()


def in_the_row() -> Decimal:
    with connection.cursor() as cursor:
        cursor.execute("SELECT attributes ->> 'n' FROM notifications_contact")
        return Decimal(cursor.fetchone()[0])


def shown(caller: Caller) -> str:
    """The attributes in the very letters of the answer."""
    text = caller.get("contacts/u1").content.decode()
    return text.split('"attributes":')[1].split(',"locale"')[0]


@pytest.mark.parametrize("number", [*LONG, *SHORT])
def test_a_number_is_kept_and_shown_as_it_came(alice: Caller, number: str) -> None:
    assert alice.put("contacts/u1", body(f'{{"n": {number}, "in": [{number}]}}')).status_code == 201
    assert in_the_row() == Decimal(number)
    attributes = shown(alice)
    assert json.loads(attributes, parse_int=Decimal, parse_float=Decimal) == {
        "n": Decimal(number), "in": [Decimal(number)],
    }  # fmt: skip

    Contact.objects.all().delete()
    assert alice.put("contacts/u1", body(attributes)).status_code == 201
    assert in_the_row() == Decimal(number)


@pytest.mark.parametrize("number", LONG)
def test_a_change_takes_it_beside_one_that_is_there(alice: Caller, number: str) -> None:
    tag = alice.put("contacts/u1", body(f'{{"n": {number}}}'))["ETag"]
    answer = alice.patch("contacts/u1", body(f'{{"m": {number}}}'), If_Match=tag)
    assert answer.status_code == 200
    assert in_the_row() == Decimal(number)
    kept = json.loads(shown(alice), parse_int=Decimal, parse_float=Decimal)
    assert kept == {"n": Decimal(number), "m": Decimal(number)}


def test_another_last_digit_is_another_tag(alice: Caller) -> None:
    tag = alice.put("contacts/u1", body('{"n": 0.12345678901234567890}'))["ETag"]
    alice.patch("contacts/u1", body('{"n": 0.12345678901234567891}'))
    assert alice.patch("contacts/u1", body("{}"), If_Match=tag).status_code == 412


def test_many_people_at_once_keep_theirs_too(alice: Caller) -> None:
    person = f'{{"external_id": "{LONG[0]}", "attributes": {{"n": {LONG[3]}}}}}'
    reply = alice.post("contacts/bulk", f'{{"contacts": [{person}]}}'.encode())
    assert reply.json() == {"created": 1, "updated": 0, "rejected": []}
    assert Contact.objects.get().external_id == LONG[0]
    assert in_the_row() == Decimal(LONG[3])


@pytest.mark.parametrize("number", [*LONG[:4], *SHORT[:3]])
def test_a_text_says_the_number_as_it_came(alice: Caller, ours: Project, number: str) -> None:
    make_device(make_contact(ours, external_id="u1"))
    alice.put("contacts/u1", body(f'{{"n": {number}}}'))
    template = make_template(ours, title="{{ n }}", body="{{ n | append: '!' }}")
    message = alice.post(f"templates/{template.pk}/preview", {"contact": "u1"}).json()["message"]
    assert message["notification"] == {"title": number, "body": f"{number}!"}


@pytest.mark.parametrize("number", TOO_LONG)
def test_a_number_nobody_could_keep_is_refused_by_name(alice: Caller, number: str) -> None:
    reply = alice.put("contacts/u1", body(f'{{"fine": 1, "n": [{number}]}}'))
    assert reply.status_code == 400
    said = "n: A number of more than 1,000 digits; send it as a text."
    assert reply.json()["errors"] == [{"field": "attributes", "message": said}]
    person = f'{{"external_id": "u2", "attributes": {{"n": {number}}}}}'
    rows = alice.post("contacts/bulk", f'{{"contacts": [{person}]}}'.encode()).json()
    assert rows["rejected"] == [{"index": 0, "field": "attributes", "message": said}]
    assert not Contact.objects.exists()


@pytest.mark.parametrize(
    "wrong",
    [
        '{"n": 012345678901234567890}',
        '{"n": 12345678901234567890.}',
        '{"n": 1234567890123456.7.8}',
        '{"n": 12345678901234567890-1}',
        '{"n": +12345678901234567890}',
        '{"n": 1e}',
        '{"n": ' + "[" * 5_000 + "12345678901234567890" + "]" * 5_000 + "}",
    ],
)
def test_beside_a_long_number_what_is_no_json_is_refused_as_ever(alice: Caller, wrong: str) -> None:
    reply = alice.put("contacts/u1", body(wrong))
    assert reply.status_code == 400
    assert "The body is" in reply.json()["detail"]
    assert not Contact.objects.exists()


def test_digits_in_a_text_are_a_text(alice: Caller) -> None:
    told = {"phone": "call: 12345678901234567890, 1e400", "n": 0.5}
    assert alice.put("contacts/u1", {"attributes": told}).status_code == 201
    assert Contact.objects.get().attributes == told


def test_an_id_of_too_many_digits_is_refused_by_name(alice: Caller) -> None:
    person = f'{{"external_id": {"7" * 201}}}'
    rows = alice.post("contacts/bulk", f'{{"contacts": [{person}]}}'.encode()).json()
    assert [row["field"] for row in rows["rejected"]] == ["external_id"]
