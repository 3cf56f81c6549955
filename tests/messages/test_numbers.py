"""A number stays as it came, in variables and in an event's properties as in attributes."""

from __future__ import annotations

import pytest

from campaigns import tasks
from campaigns.runs.messages.message import Message
from campaigns.triggers.trigger import Trigger
from notifications.people.project import Project
from notifications.staff.api_key import ApiKey
from tests.api.caller import Caller
from tests.given.builders import make_automation, make_contact, make_device, make_template
from tests.messages.both_ways import Web
from tests.servers.fcm import Fcm
from tests.triggers.doing import work

LONG = ["12345678901234567890.12", "12345678901234567890123", "0.12345678901234567891", "7" * 400]
TOO_LONG = ["1" * 1_001, "1e1000", "1e-1001", "9" * 5_000]
SAID = "A number of more than 1,000 digits; send it as a text."


@pytest.fixture
def call(project: Project) -> Caller:
    make_device(make_contact(project, external_id="ada"), "live1:APA91b")
    return Caller(project)


def body(number: str, more: str = "") -> bytes:
    """As it stands: no library between the digits and the wire."""
    text = '"content":{"title":"{{ n }}","body":"{{ of.n[0] }}!"}'
    variables = f'"variables":{{"n":{number},"of":{{"n":[{number}]}}}}'
    return f'{{"to":{{"contact":"ada"}},{text},{variables}{more}}}'.encode()


def event(number: str) -> bytes:
    did = f'{{"contact":"ada","name":"added_to_cart","properties":{{"n":{number}}}}}'
    return f'{{"events":[{did}]}}'.encode()


def arrived(fcm: Fcm) -> set[tuple[str, str]]:
    return {(one["title"], one["body"]) for one in fcm.witness()}


@pytest.mark.parametrize("number", LONG)
def test_a_text_says_a_variable_as_it_came(call: Caller, fcm: Fcm, number: str) -> None:
    assert call.post("messages", body(number)).status_code == 202
    bulk = call.post("messages/bulk", b'{"messages":[%s]}' % body(number)).json()
    assert len(bulk["accepted"]) == 1
    many = body(number).replace(b'"contact":"ada"', b'"contacts":["ada"]')
    assert call.post("messages", many).status_code == 202
    tasks.send_messages()
    assert len(fcm.witness()) == 3
    assert arrived(fcm) == {(number, f"{number}!")}


@pytest.mark.django_db(transaction=True)
def test_a_variable_stays_as_it_came_on_the_short_way(
    call: Caller, fcm: Fcm, project: Project
) -> None:
    _, key = ApiKey.issue(project, "test")
    web = Web()
    assert web.post(key, body("1"))[0].status == 202
    Message.objects.all().delete()
    ordinary = web.ordinary
    assert [said.status for said in web.post(key, *map(body, LONG))] == [202] * len(LONG)
    assert web.ordinary == ordinary
    tasks.send_messages()
    assert arrived(fcm) == {(number, f"{number}!") for number in LONG}


@pytest.mark.parametrize("number", TOO_LONG)
def test_a_variable_that_nobody_could_keep_is_refused_by_name(call: Caller, number: str) -> None:
    for written, field in (
        (body(number), "variables.n"),
        (body("1").replace(b"[1]", f"[{number}]".encode()), "variables.of.n[0]"),
    ):
        answer = call.post("messages", written)
        assert answer.status_code == 400
        assert answer.json()["errors"][0] == {"field": field, "message": SAID}
    assert not Message.objects.exists()


def test_an_option_of_no_size_that_a_phone_knows_is_refused_by_name(call: Caller) -> None:
    for number in ("1e400", "9" * 400):
        options = f',"options":{{"ios":{{"badge":{number}}}}}'
        answer = call.post("messages", body("1", options))
        assert answer.status_code == 400
        said = "This number is too large. Give a smaller one, or a text."
        assert answer.json()["errors"] == [{"field": "options.ios.badge", "message": said}]


@pytest.mark.parametrize("number", LONG)
def test_a_text_says_an_events_property_as_it_came(
    call: Caller, fcm: Fcm, project: Project, number: str
) -> None:
    template = make_template(project, title="{{ n }}", body="{{ n | append: '!' }}")
    make_automation(project, template=template)
    assert call.post("events", event(number)).json()["written"] == 1
    work()
    assert arrived(fcm) == {(number, f"{number}!")}


def test_a_property_of_any_size_is_taken_or_refused_as_an_attribute_is(
    call: Caller, fcm: Fcm, project: Project
) -> None:
    make_automation(project, template=make_template(project, title="{{ n }}", body="x"))
    assert call.post("events", event("1e900")).json()["written"] == 1
    work()
    assert arrived(fcm) == {("1" + "0" * 900, "x")}
    for number in TOO_LONG:
        attribute = call.put("contacts/ada", f'{{"attributes":{{"n":{number}}}}}'.encode())
        assert attribute.status_code == 400
        (refused,) = call.post("events", event(number)).json()["rejected"]
        assert (refused["field"], refused["message"]) == ("properties", f"n: {SAID}")
    assert Trigger.objects.count() == 1
