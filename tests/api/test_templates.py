"""Templates through the API, and the preview that shows exactly what would be sent."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from campaigns.texts.template import Template
from notifications.people.project import Project
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_contact, make_device, make_template

TEXTS: dict[str, Any] = {
    "name": "Autumn",
    "title": "Hello {{ first_name }}",
    "body": "See you in {{ city }}",
    "link": "https://example.com/run",
    "data": {"screen": "event"},
    "options": {"android": {"channel_id": "events"}, "ios": {"badge": "{{ unread }}"}},
    "locales": {"ko": {"title": "{{ first_name }}님"}},
}


def test_a_template_is_saved_and_shown_as_it_came(alice: Caller) -> None:
    made = alice.post("templates", TEXTS)
    assert made.status_code == 201
    shown = alice.get(f"templates/{made.json()['id']}").json()
    assert {name: shown[name] for name in TEXTS} == TEXTS
    assert shown["image"] == ""


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"title": "{{ first_name"}, "title"),
        ({"title": ""}, "title"),
        ({"body": "{% for a in b %}{% endfor %}"}, "body"),
        ({"image": "http://example.com/a.png"}, "image"),
        ({"data": {"a": 1}}, "data"),
        ({"data": {"a\x00": "b"}}, "data"),
        ({"data": []}, "data"),
        ({"options": {"windows": {}}}, "options"),
        ({"options": {"ios": {"badge": "{{ unread"}}}, "options"),
        ({"options": {"android": {"data": {"n": 1}}}}, "options"),
        ({"options": {"ios": {"data": {"carillon_id": "1"}}}}, "options"),
        ({"body": "é" * 2_100}, "body"),
        ({"locales": {"ko": {"titel": "x"}}}, "locales"),
        ({"locales": {"ko": {"data": {"from": "x"}}}}, "locales"),
        ({"subject": "x"}, "subject"),
    ],
)
def test_a_text_that_cannot_be_sent_is_refused_by_its_field(
    alice: Caller, wrong: dict[str, Any], field: str
) -> None:
    response = alice.post("templates", {**TEXTS, **wrong})
    assert response.status_code == 400
    assert set(fields_at_fault(response)) == {field}
    assert not Template.objects.exists()


@pytest.mark.parametrize("path", ["templates", "snippets"])
def test_a_language_without_a_tag_is_refused_in_quotes(alice: Caller, path: str) -> None:
    said = {"templates": TEXTS, "snippets": {"name": "footer", "text": "Shop Ltd."}}[path]
    refused = alice.post(path, {**said, "locales": {"": {}}}).json()["errors"][0]
    assert refused["field"] == "locales"
    assert refused["message"].startswith("“”: Use a language tag")


def test_a_language_is_kept_under_its_canonical_tag(alice: Caller) -> None:
    locales = {"pt_br": {"title": "Oi"}, "ZH-hant-tw": {"title": "繁體"}, "es-419": {"title": "¡"}}
    made = alice.post("templates", {**TEXTS, "locales": locales}).json()
    assert set(made["locales"]) == {"pt-BR", "zh-Hant-TW", "es-419"}
    again = alice.put(f"templates/{made['id']}", {**TEXTS, "locales": locales}).json()
    assert again["locales"] == made["locales"]


def test_two_spellings_of_one_language_are_refused_by_name(alice: Caller) -> None:
    twice = {"pt-br": {"title": "Oi"}, "pt_BR": {"title": "Olá"}}
    reply = alice.post("templates", {**TEXTS, "locales": twice})
    assert reply.status_code == 400
    said = "pt_BR: the same language as pt-br; keep one of the two."
    assert reply.json()["errors"] == [{"field": "locales", "message": said}]
    assert not Template.objects.exists()


def test_put_returns_what_is_left_out_to_empty(alice: Caller, ours: Project) -> None:
    template = make_template(ours, data={"a": "b"}, link="https://example.com")
    answer = alice.put(f"templates/{template.pk}", {"name": "N", "title": "T", "body": "B"})
    assert answer.status_code == 200
    template.refresh_from_db()
    assert (template.title, template.data, template.link) == ("T", {}, "")


def test_the_preview_is_the_message_for_the_device_used_last(alice: Caller, ours: Project) -> None:
    template = make_template(ours, **{**TEXTS, "name": "T"})
    contact = make_contact(ours, attributes={"first_name": "지우", "city": "Seoul"}, locale="ko-KR")
    make_device(contact, "newest", platform="android", last_seen_at=timezone.now())
    make_device(contact, "older", last_seen_at=timezone.now() - timedelta(days=9))
    make_device(
        contact, "gone", retired_at=timezone.now(), retired_reason="removed",
        last_seen_at=timezone.now() + timedelta(days=1),
    )  # fmt: skip
    answer = alice.post(f"templates/{template.pk}/preview", {"contact": contact.external_id})
    assert answer.status_code == 200
    message = answer.json()["message"]
    assert message["token"] == "newest"
    assert message["notification"] == {"title": "지우님", "body": "See you in Seoul"}
    assert message["data"]["screen"] == "event"
    assert message["data"]["link"] == "https://example.com/run"
    assert message["android"]["ttl"] == "86400s"
    assert message["android"]["notification"]["channel_id"] == "events"


def test_a_key_that_may_not_read_people_sees_the_end_of_an_address_alone(ours: Project) -> None:
    template = make_template(ours)
    contact = make_contact(ours, attributes={"first_name": "Ada"})
    device = make_device(contact, "a-whole-token-to-push-to-123456")
    path = f"templates/{template.pk}/preview"
    answer = Caller(ours, ["templates", "runs"]).post(path, {"contact": contact.external_id})
    assert answer.json()["message"]["token"] == "…123456"
    assert "a-whole" not in answer.content.decode()
    whole = Caller(ours, ["templates", "contacts"]).post(path, {"contact": contact.external_id})
    assert whole.json()["message"]["token"] == device.address


def test_a_person_a_launch_would_skip_is_refused_with_the_reason(
    alice: Caller, ours: Project
) -> None:
    template = make_template(ours, title="{{ city }}")
    contact = make_contact(ours, attributes={})
    make_device(contact)
    answer = alice.post(f"templates/{template.pk}/preview", {"contact": contact.external_id})
    assert answer.status_code == 422
    assert answer.json()["reason"] == "missing_value"
    assert "city" in answer.json()["detail"]


def test_a_person_whose_message_fcm_would_refuse_is_refused_with_the_field(
    alice: Caller, ours: Project
) -> None:
    template = make_template(ours, options={"ios": {"badge": "{{ unread }}"}})
    contact = make_contact(ours, attributes={"first_name": "Ada", "unread": "many"})
    make_device(contact, platform="ios")
    answer = alice.post(f"templates/{template.pk}/preview", {"contact": contact.external_id})
    assert answer.status_code == 422
    assert answer.json()["reason"] == "invalid_message"
    assert "would reject this person" in answer.json()["detail"]
    assert "options.ios.badge" in answer.json()["errors"][0]["message"]


def test_a_preview_needs_a_person_who_can_be_reached(
    alice: Caller, charlie: Caller, ours: Project
) -> None:
    template = make_template(ours)
    nobody_home, theirs = make_contact(ours), make_contact(charlie.project)
    make_device(theirs, "their-token")
    for external_id in (nobody_home.external_id, theirs.external_id, "nobody"):
        answer = alice.post(f"templates/{template.pk}/preview", {"contact": external_id})
        assert answer.status_code == 400
        assert fields_at_fault(answer) == ["contact"]
        assert "their-token" not in answer.content.decode()


def test_every_change_is_kept_with_the_key_that_made_it(alice: Caller) -> None:
    made = alice.post("templates", TEXTS).json()
    alice.put(f"templates/{made['id']}", {**TEXTS, "title": "New"})
    alice.put(f"templates/{made['id']}", {**TEXTS, "title": "New"})
    alice.put(f"templates/{made['id']}", {**TEXTS, "title": "{{ broken"})
    kept = Template.objects.get().revisions.all()
    by = f"key:{alice.row.prefix}"
    assert [(one.number, one.by, one.content["title"]) for one in kept] == [
        (2, by, "New"),
        (1, by, TEXTS["title"]),
    ]


def test_what_an_older_template_said_is_kept_before_a_program_changes_it(
    alice: Caller, ours: Project
) -> None:
    template = make_template(ours, title="As it was")
    alice.put(f"templates/{template.pk}", TEXTS)
    assert [one.content["title"] for one in template.revisions.all()] == [
        TEXTS["title"],
        "As it was",
    ]
