"""A test goes out as a campaign's message would, and says word for word what FCM answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from campaigns.sending import sending
from campaigns.test_sends import sending as of_tests
from campaigns.test_sends import tasks
from campaigns.test_sends.models import DeviceTest
from notifications import dispatch
from notifications.fcm import payload
from notifications.gateway import Gateway, Permit, Push
from notifications.keys.credentials import ServiceAccount
from notifications.people.consent.category import Category
from notifications.people.project import Project
from notifications.staff.team import Role
from tests.admin.desk import Desk, text_of
from tests.given.builders import (
    make_campaign,
    make_contact,
    make_device,
    make_people,
    make_run,
    make_template,
)
from tests.given.consent import decline, never
from tests.roles.people import logged_in
from tests.servers.fcm import Fcm
from tests.test_sends.trying import answered, ask, ends_of, make_tester, try_on

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk(project: Project) -> Desk:
    return Desk(logged_in(Role.EDITOR))


def said_to(fcm: Fcm) -> dict[str, tuple[str, str]]:
    """Title and body, by the address that got them."""
    return {one["address"]: (one["title"], one["body"]) for one in fcm.witness()}


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Each message as FCM gets it; they go out all the same."""
    seen: list[dict[str, Any]] = []

    def watched(gateway: Gateway, pushes: Sequence[Push], permit: Permit) -> Any:
        seen.extend(payload.as_fcm(push) for push in pushes)
        return dispatch.dispatch(gateway, pushes, permit)

    for sender in (of_tests, sending):
        monkeypatch.setattr(sender, "dispatch", watched)
    return seen


def test_every_device_of_every_tester_rings_and_nobody_elses(
    project: Project, desk: Desk, fcm: Fcm
) -> None:
    phone = make_tester(project, attributes={"first_name": "Mina"})
    tablet = make_device(phone.contact, platform="ios")
    make_people(project, 2)
    test = try_on(desk, make_template(project))
    assert ends_of(test) == {phone.pk: ("accepted", ""), tablet.pk: ("accepted", "")}
    assert {record["address"] for record in fcm.witness()} == {phone.address, tablet.address}


def test_one_person_gets_it_who_is_no_tester(project: Project, desk: Desk, fcm: Fcm) -> None:
    make_tester(project)
    (device,) = make_people(project, 1)
    test = try_on(desk, make_template(project), to="person", person=device.contact.external_id)
    assert ends_of(test) == {device.pk: ("accepted", "")}


def test_it_is_marked_in_its_data_and_nowhere_else(
    project: Project, desk: Desk, fcm: Fcm, sent: list[dict[str, Any]]
) -> None:
    device = make_tester(project)
    project.asks_receipts = True
    project.save()
    test = try_on(desk, make_template(project, title="Hello", body="See you"))
    reference = f"test-{test.pk}:{DeviceTest.objects.get().pk}"
    (message,) = sent
    assert message["data"] == {"carillon_id": reference, "carillon_test": "1"}
    assert message["notification"] == {"title": "Hello", "body": "See you"}
    assert "fcm_options" not in message  # Google's own reports show it under no label
    assert [record["address"] for record in fcm.witness()] == [device.address]


def test_no_message_of_a_campaign_is_marked(
    project: Project, fcm: Fcm, sent: list[dict[str, Any]]
) -> None:
    make_people(project, 1)
    run = make_run(project)
    sending.send(run.pk, 1, run.epoch)
    (message,) = sent
    assert "carillon_test" not in message["data"]


def test_a_text_that_is_not_saved_is_sent_as_it_stands(
    project: Project, desk: Desk, fcm: Fcm
) -> None:
    device = make_tester(project)
    draft = make_template(project)
    draft.title, draft.body = "A draft for {{ first_name }}", "Not saved"
    try_on(desk, draft)
    assert said_to(fcm) == {device.address: ("A draft for Ada", "Not saved")}
    draft.refresh_from_db()
    assert draft.title == "Hello {{ first_name }}"


def test_it_is_read_with_another_persons_values_in_their_language(
    project: Project, desk: Desk, fcm: Fcm
) -> None:
    device = make_tester(project, locale="en")
    make_contact(project, external_id="sora", attributes={"first_name": "소라"}, locale="ko")
    template = make_template(project)
    korean = '{"ko": {"title": "{{ first_name }}님 안녕하세요"}}'
    about = {"settled_project": str(project.pk), "title": template.title, "body": template.body}
    desk.post("campaigns_template_test", **about, locales=korean, **answered(values_of="sora"))
    tasks.send_test(DeviceTest.objects.get().test_id)
    assert said_to(fcm) == {device.address: ("소라님 안녕하세요", "See you")}


def test_it_is_read_in_the_language_that_was_chosen(project: Project, desk: Desk, fcm: Fcm) -> None:
    device = make_tester(project, locale="en")
    about = {"settled_project": str(project.pk), "title": "Hello {{ first_name }}", "body": "x"}
    korean = '{"ko": {"title": "{{ first_name }}님"}}'
    desk.post("campaigns_template_test", **about, locales=korean, **answered(locale="ko-KR"))
    tasks.send_test(DeviceTest.objects.get().test_id)
    assert said_to(fcm) == {device.address: ("Ada님", "x")}


def test_a_campaign_is_tried_as_a_launch_would_send_it(
    project: Project, desk: Desk, fcm: Fcm, sent: list[dict[str, Any]]
) -> None:
    device = make_tester(project)
    campaign = make_campaign(project, ttl_seconds=3_600)
    desk.post("campaigns_campaign_test", campaign.pk, **answered())
    tasks.send_test(DeviceTest.objects.get().test_id)
    assert said_to(fcm) == {device.address: ("Hello Ada", "See you")}
    assert sent[0]["android"]["ttl"] == "3600s"


def test_the_answer_is_shown_word_for_word_with_what_it_means_and_what_to_do(
    project: Project, desk: Desk, fcm: Fcm
) -> None:
    make_tester(project, "dead-1:APA91b", external_id="gone")
    test = try_on(desk, make_template(project))
    page = desk.open("test_shown", test.pk)
    assert "gone Android" in page
    assert "App uninstalled or address expired" in page
    assert "FCM's answer: HTTP 404 UNREGISTERED" in page
    assert '"errorCode": "UNREGISTERED"' in page
    assert "the address comes back by itself when the app is opened" in page


def test_an_accepted_one_shows_fcms_name_of_it_and_claims_no_more(
    project: Project, desk: Desk, fcm: Fcm
) -> None:
    make_tester(project)
    test = try_on(desk, make_template(project))
    page = desk.open("test_shown", test.pk)
    assert "HTTP 200" in page and "/messages/" in page
    assert "Whether the phone shows it is for the phone to say" in page


def test_a_dead_address_costs_nobody_their_device(project: Project, desk: Desk, fcm: Fcm) -> None:
    device = make_tester(project, "dead-1:APA91b")
    try_on(desk, make_template(project))
    device.refresh_from_db()
    assert device.active


def test_who_opted_out_is_skipped_and_the_page_says_so(
    project: Project, desk: Desk, fcm: Fcm
) -> None:
    no, never_any, yes = (make_tester(project, external_id=name) for name in ("a", "b", "c"))
    decline(no.contact)
    never(never_any.contact)
    test = try_on(desk, make_template(project))
    assert ends_of(test) == {
        no.pk: ("skipped", "unsubscribed"),
        never_any.pk: ("skipped", "suppressed"),
        yes.pk: ("accepted", ""),
    }
    assert [record["address"] for record in fcm.witness()] == [yes.address]
    assert "This person does not want such messages" in desk.open("test_shown", test.pk)


def test_a_campaigns_category_decides_whom_a_no_keeps_from_it(
    project: Project, desk: Desk, fcm: Fcm
) -> None:
    device = make_tester(project)
    decline(device.contact)
    receipts = Category.objects.create(
        project=project, name="Receipts", slug="receipts", kind=Category.Kind.TRANSACTIONAL
    )
    campaign = make_campaign(project, category=receipts)
    desk.post("campaigns_campaign_test", campaign.pk, **answered())
    tasks.send_test(DeviceTest.objects.get().test_id)
    assert DeviceTest.objects.get().status == "accepted"


def test_who_declined_the_campaigns_own_category_is_skipped(
    project: Project, desk: Desk, fcm: Fcm
) -> None:
    device = make_tester(project)
    offers = Category.objects.create(project=project, name="Offers", slug="offers")
    decline(device.contact, "offers")
    campaign = make_campaign(project, category=offers)
    desk.post("campaigns_campaign_test", campaign.pk, **answered())
    tasks.send_test(DeviceTest.objects.get().test_id)
    assert DeviceTest.objects.get().reason == "unsubscribed"
    assert fcm.witness() == []


def test_who_lacks_a_value_is_skipped_as_in_a_campaign(
    project: Project, desk: Desk, fcm: Fcm
) -> None:
    device = make_tester(project, attributes={})
    test = try_on(desk, make_template(project))
    assert ends_of(test) == {device.pk: ("skipped", "missing_value")}
    page = desk.open("test_shown", test.pk)
    assert "No value for first_name" in page and "test with the values of somebody" in page


def test_a_tester_without_a_device_is_named(project: Project, desk: Desk) -> None:
    make_contact(project, tester=True, external_id="phoneless")
    test = try_on(desk, make_template(project))
    assert ends_of(test) == {None: ("skipped", "no_device")}
    assert "This person has no active device" in desk.open("test_shown", test.pk)


def test_a_text_that_is_not_in_order_is_refused_before_anybody_gets_it(
    project: Project, desk: Desk
) -> None:
    make_tester(project)
    broken = make_template(project)
    broken.body = "{{ first_name"
    reply = ask(desk, broken)
    assert "Nothing was sent: the text is not in order." in text_of(reply)
    assert not DeviceTest.objects.exists()


def test_a_doorbell_that_rings_twice_rings_the_phone_once(
    project: Project, desk: Desk, fcm: Fcm
) -> None:
    make_tester(project)
    test = try_on(desk, make_template(project))
    tasks.send_test(test.pk)
    assert len(fcm.witness()) == 1


def test_nothing_is_tried_again_in_secret(project: Project, desk: Desk, fcm: Fcm) -> None:
    device = make_tester(project)
    fcm.script("answer", answer="unavailable")
    test = try_on(desk, make_template(project))
    assert ends_of(test) == {device.pk: ("unknown", "unavailable")}
    assert "HTTP 503" in desk.open("test_shown", test.pk)


def test_a_key_that_cannot_work_is_told_with_what_to_do(
    project: Project, desk: Desk, fcm: Fcm
) -> None:
    device = make_tester(project)
    ServiceAccount.objects.all().delete()
    test = try_on(desk, make_template(project))
    assert ends_of(test) == {device.pk: ("rejected", "bad_credentials")}
    assert "set a working service account" in desk.open("test_shown", test.pk)
