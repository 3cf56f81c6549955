"""Endpoints through the API and the pages: made, tried, read, and replayed."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.utils import timezone

from notifications.people.project import Project
from notifications.requests.idempotency import IdempotencyKey
from notifications.staff.audit import AuditEntry
from notifications.webhooks.call import Call
from notifications.webhooks.endpoint import Endpoint
from notifications.webhooks.event_types import FOR_PEOPLE, EventType
from tests.admin.desk import Desk, text_of
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_project
from tests.given.endpoints import make_endpoint
from tests.servers.receiver import Receiver

pytestmark = pytest.mark.django_db


@pytest.fixture
def shop(db: None) -> Project:
    return make_project()


@pytest.fixture
def call(shop: Project) -> Caller:
    return Caller(shop)


def asked(url: str, **other: Any) -> dict[str, Any]:
    return {"name": "Shop", "via": "webhook", "to": url, "events": ["run.finished"], **other}


def test_an_endpoint_is_made_and_its_secret_is_shown_once(call: Caller, receiver: Receiver) -> None:
    made = call.post("endpoints", asked(receiver.url))
    assert made.status_code == 201, made.content
    shown = made.json()
    assert shown["secret"] == Endpoint.objects.get().open()
    assert "secret" not in call.get(f"endpoints/{shown['id']}").json()
    assert [each["id"] for each in call.get("endpoints").json()["results"]] == [shown["id"]]
    assert shown["secret"] not in str(AuditEntry.objects.values())


@pytest.mark.parametrize(
    ("other", "field"),
    [
        ({"to": "https://127.0.0.1/"}, "to"),
        ({"to": "http://hooks.example.com/"}, "to"),
        ({"events": []}, "events"),
        ({"events": ["run.exploded"]}, "events[0]"),
        ({"via": "slack", "events": ["receipt"]}, "events"),
        ({"via": "slack", "batched": True}, "batched"),
        ({"via": "email", "to": "ada@example.com"}, "to"),
        ({"campaigns": [7]}, "campaigns"),
    ],
)
def test_what_cannot_work_is_refused_with_its_field(
    call: Caller, other: dict[str, Any], field: str
) -> None:
    answer = call.post("endpoints", asked("https://127.0.0.1/", **other))
    assert answer.status_code == 400, answer.content
    assert field in fields_at_fault(answer)
    assert not Endpoint.objects.exists()


def test_slacks_url_is_a_secret_and_a_change_keeps_it(call: Caller, receiver: Receiver) -> None:
    made = call.post("endpoints", asked(receiver.url, via="slack")).json()
    assert made["to"] == f"localhost/…{receiver.url[-4:]}" and made["secret"] is None
    changed = call.patch(f"endpoints/{made['id']}", {"name": "Ops"})
    assert (changed.status_code, changed.json()["name"]) == (200, "Ops")
    assert Endpoint.objects.get().open() == receiver.url


def test_a_test_is_in_the_log_and_a_failed_one_is_replayed(call: Caller, shop: Project) -> None:
    endpoint = make_endpoint(shop, "https://hooks.example.com/")
    sent = call.post(f"endpoints/{endpoint.pk}/test", {})
    assert sent.status_code == 202, sent.content
    Call.objects.update(state="failed", status=500, answer="no")
    (entry,) = call.get(f"endpoints/{endpoint.pk}/deliveries").json()["results"]
    assert (entry["state"], entry["status"], entry["answer"]) == ("failed", 500, "no")
    assert call.post(f"endpoints/{endpoint.pk}/replay", {}).json() == {"replayed": 1}
    again = {"delivery": entry["id"]}
    assert call.post(f"endpoints/{endpoint.pk}/replay", again).json() == {"replayed": 0}
    lost = call.post(f"endpoints/{endpoint.pk}/replay", {"delivery": "evt_0"})
    assert lost.status_code == 404


def test_the_same_key_makes_one_endpoint_and_does_not_tell_its_secret_again(
    call: Caller, receiver: Receiver
) -> None:
    made, again = (
        call.post("endpoints", asked(receiver.url), Idempotency_Key="k1") for _ in range(2)
    )
    assert made.status_code == again.status_code == 201, again.content
    secret = Endpoint.objects.get().open()
    assert made.json()["secret"] == secret
    assert again.json() == {**made.json(), "secret": None}
    assert secret not in str(IdempotencyKey.objects.values())
    assert call.post("endpoints", asked(receiver.url)).status_code == 409


def test_a_secret_is_good_for_as_long_as_was_promised(call: Caller, shop: Project) -> None:
    endpoint = make_endpoint(shop, "https://hooks.example.com/")
    first = endpoint.open()
    path = f"endpoints/{endpoint.pk}/secret"
    made, again = (call.post(path, {}, Idempotency_Key="k1") for _ in range(2))
    until, second = made.json()["until"], made.json()["secret"]
    assert again.json() == {"secret": None, "until": until}

    refused = call.post(path, {})
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:carillon:still-signs")
    assert until[:19] in refused.json()["detail"]
    endpoint.refresh_from_db()
    assert endpoint.secrets(now=timezone.now()) == [second, first]

    third = call.post(path, {"at_once": True}).json()
    assert third["until"] is None
    endpoint.refresh_from_db()
    assert endpoint.secrets(now=timezone.now()) == [third["secret"]]


def test_it_is_switched_off_and_on(call: Caller, shop: Project) -> None:
    endpoint = make_endpoint(shop, "https://hooks.example.com/")
    off = call.patch(f"endpoints/{endpoint.pk}", {"enabled": False}).json()
    assert (off["enabled"], off["disabled_why"]) == (False, "by_hand")
    shop.refresh_from_db()
    assert shop.wanted_reports == []
    assert call.patch(f"endpoints/{endpoint.pk}", {"enabled": True}).json()["enabled"]
    assert call.delete(f"endpoints/{endpoint.pk}").status_code == 204


def test_another_projects_endpoint_is_not_there(call: Caller) -> None:
    endpoint = make_endpoint(make_project(slug="other"), "https://hooks.example.com/")
    for path in ("", "/deliveries"):
        assert call.get(f"endpoints/{endpoint.pk}{path}").status_code == 404
    for path in ("/test", "/replay", "/secret"):
        assert call.post(f"endpoints/{endpoint.pk}{path}", {}).status_code == 404


def test_the_schema_says_how_it_is_refused(client: Client) -> None:
    schema = client.get("/api/schema/", {"format": "json"}).json()["paths"]
    for path in ("endpoints", "endpoints/{id}/secret"):
        answers = schema[f"/api/v1/{path}"]["post"]["responses"]
        assert {"409", "422"} <= answers.keys()


# --- Pages ----------------------------------------------------------------------------------------


def test_the_page_makes_one_and_shows_its_secret_once(
    admin_client: Client, shop: Project, receiver: Receiver
) -> None:
    form = {"project": shop.pk, "name": "Shop", "via": "webhook", "to": receiver.url,
            "kinds": ["run.finished", "opt_out"], "language": "ko"}  # fmt: skip
    answer = admin_client.post("/admin/notifications/endpoint/add/", form)
    endpoint = Endpoint.objects.get()
    assert endpoint.open() in answer.content.decode()
    page = f"/admin/notifications/endpoint/{endpoint.pk}/change/"
    shown = admin_client.get(page).content.decode()
    assert endpoint.open() not in shown and receiver.url.partition("?")[0] in shown
    assert "Nothing was sent to it yet" in shown
    changed = admin_client.post(page, {**form, "name": "Backend", "kinds": EventType.values})
    assert changed.status_code == 302, changed.content
    endpoint.refresh_from_db()
    assert (endpoint.name, endpoint.kinds) == ("Backend", EventType.values)


def test_the_page_ends_no_secret_before_its_time_but_at_once_when_asked(
    admin_client: Client, shop: Project
) -> None:
    endpoint = make_endpoint(shop, "https://hooks.example.com/")
    first = endpoint.open()
    desk = Desk(admin_client)
    assert "whsec_" in text_of(desk.confirm("notifications_endpoint_new_secret", endpoint.pk))
    told = text_of(desk.confirm("notifications_endpoint_new_secret", endpoint.pk))
    assert "still signs, as was promised: until" in told
    endpoint.refresh_from_db()
    assert endpoint.secrets(now=timezone.now())[1:] == [first]
    desk.confirm("notifications_endpoint_new_secret", endpoint.pk, at_once="on")
    endpoint.refresh_from_db()
    assert endpoint.secrets(now=timezone.now()) == [endpoint.open()] != [first]


def test_the_page_says_what_an_endpoint_answers(admin_client: Client, shop: Project) -> None:
    endpoint = make_endpoint(shop, "https://hooks.example.com/")
    now = timezone.now()
    event = {"id": "evt_1", "type": "opt_out", "timestamp": "2026-05-31T09:30:00Z", "data": {}}
    Call.objects.create(
        endpoint=endpoint, name="evt_1", events=[event], state="failed", made_at=now, next_at=now,
        gives_up_at=now, tries=9, status=500, took_ms=12, answer="<b>no</b>",
    )  # fmt: skip
    endpoint.disable(Endpoint.Why.FAILING, now=now)
    page = f"/admin/notifications/endpoint/{endpoint.pk}"
    shown = admin_client.get(f"{page}/change/").content.decode()
    assert "&lt;b&gt;no&lt;/b&gt;" in shown and "It took nothing for 5 days." in shown
    row = Call.objects.get()
    answer = admin_client.post(f"{page}/log/{row.pk}/replay/")
    assert answer.status_code == 200
    row.refresh_from_db()
    assert row.state == "waiting"
    listed = admin_client.get("/admin/notifications/endpoint/").content.decode()
    assert "disabled" in listed and "hooks.example.com" in listed


def test_all_that_is_wrong_with_a_form_is_said_at_once(admin_client: Client, shop: Project) -> None:
    form = {"project": shop.pk, "name": "Ops", "via": "slack", "to": "http://hooks.example.com/",
            "kinds": ["receipt"], "batched": "on", "language": "en"}  # fmt: skip
    answer = admin_client.post("/admin/notifications/endpoint/add/", form)
    assert set(answer.context["adminform"].form.errors) == {"to", "kinds", "batched"}
    answer = admin_client.post("/admin/notifications/endpoint/add/", {**form, "kinds": []})
    assert set(answer.context["adminform"].form.errors) == {"to", "kinds", "batched"}
    assert not Endpoint.objects.exists()


def test_the_page_of_one_says_how_it_goes_and_offers_what_goes_that_way(
    admin_client: Client, shop: Project
) -> None:
    slack = make_endpoint(shop, "hooks.slack.com/…cret", via="slack", kinds=["run.finished"])
    page = f"/admin/notifications/endpoint/{slack.pk}/change/"
    form = admin_client.get(page).context["adminform"]
    assert "Slack" in {each.contents() for fieldset in form for line in fieldset for each in line
                       if each.is_readonly}  # fmt: skip
    assert [kind for kind, _ in form.form.fields["kinds"].choices] == list(FOR_PEOPLE)
    assert "batched" not in form.form.fields
    given = {"project": shop.pk, "name": "Ops", "to": slack.target, "kinds": ["run.paused"],
             "language": "en"}  # fmt: skip
    assert admin_client.post(page, given).status_code == 302
    slack.refresh_from_db()
    assert (slack.name, slack.kinds, slack.batched) == ("Ops", ["run.paused"], False)


def test_without_a_mail_server_it_is_said_what_to_do(
    admin_client: Client, shop: Project, settings: LazySettings
) -> None:
    form = {"project": shop.pk, "name": "Ops", "via": "email", "to": "ops@example.com",
            "kinds": ["run.finished"], "language": "en"}  # fmt: skip
    answer = admin_client.post("/admin/notifications/endpoint/add/", form)
    assert "EMAIL_URL" in answer.content.decode() and not Endpoint.objects.exists()
    offered = answer.context["adminform"].form.fields["via"].choices
    assert [via for via, _ in offered] == ["webhook", "slack"]
    settings.EMAIL_IS_SET = True
    assert admin_client.post("/admin/notifications/endpoint/add/", form).status_code == 302
