"""Building an audience: what may be chosen, what is counted, who is in and why."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from campaigns.audiences import estimating, reach
from campaigns.audiences.selection import joined
from notifications.people.consent.suppression import suppress
from notifications.people.project import Project
from tests.admin.desk import Desk, text_of
from tests.given.builders import make_audience, make_contact, make_device, make_people, make_project

pytestmark = pytest.mark.django_db
PRO = {"field": "attributes.plan", "op": "eq", "value": "pro"}


def choices(desk: Desk, project: Project, *asked: str) -> dict[str, Any]:
    url = reverse("admin:audience_choices")
    query: dict[str, str | int | tuple[str, ...]] = {"project": project.pk, "asked": asked}
    found = desk.client.get(url, query).json()
    return {**found, "fields": {field["name"]: field for field in found["fields"]}}


def values(desk: Desk, project: Project, field: str, typed: str = "") -> list[Any]:
    url = reverse("admin:audience_values")
    query: dict[str, str | int] = {"project": project.pk, "field": field, "typed": typed}
    reply = desk.client.get(url, query)
    return [one["exact"] for one in reply.json()["values"]]


def ask(desk: Desk, part: str, project: Project, rules: Any, **more: str) -> str:
    return text_of(
        desk.post(f"audience_{part}", project=project.pk, rules=json.dumps(rules), **more)
    )


# --- What may be chosen ---------------------------------------------------------------------------


def test_an_attribute_offers_the_comparisons_that_fit_its_values(
    desk: Desk, project: Project
) -> None:
    make_contact(project, attributes={"plan": "pro", "points": 3, "likes": ["tea"]})
    make_contact(project, attributes={"plan": "free"})
    found = choices(desk, project)
    fields = found["fields"]
    assert "contains" in fields["attributes.plan"]["ops"]
    assert "gt" not in fields["attributes.plan"]["ops"]
    assert "gte" in fields["attributes.points"]["ops"]
    assert fields["attributes.points"]["percent"] == 50
    assert fields["attributes.likes"]["ops"] == [
        *("has", "has_any", "has_none", "exists", "not_exists")
    ]
    assert [one["exact"] for one in fields["platform"]["choices"]] == ["android", "ios", "web"]
    assert found["verbs"]["within_last"] == "is within the last"


def test_the_lists_of_this_project_can_be_chosen_and_no_other(desk: Desk, project: Project) -> None:
    ours = make_audience(project, name="Testers", kind="list")
    make_audience(make_project(), name="Theirs", kind="list")
    assert choices(desk, project)["lists"] == [{"exact": ours.pk, "label": "Testers"}]


def test_an_attribute_a_rule_names_but_nobody_has_is_marked(desk: Desk, project: Project) -> None:
    make_contact(project, attributes={"plan": "pro"})
    fields = choices(desk, project, "tier", "plan", "no such name!")["fields"]
    assert fields["attributes.tier"]["gone"] is True
    assert fields["attributes.plan"]["gone"] is False
    assert len([name for name in fields if name.startswith("attributes.")]) == 2


def test_values_are_suggested_from_the_people_of_the_project(desk: Desk, project: Project) -> None:
    make_contact(project, attributes={"plan": "pro"})
    make_contact(make_project(), attributes={"plan": "theirs"})
    assert values(desk, project, "attributes.plan") == ["pro"]
    assert values(desk, project, "attributes.plan", "x") == []
    assert values(desk, project, "password") == []


def test_who_is_not_logged_in_learns_nothing(client: Client, project: Project) -> None:
    for page in ("choices", "values"):
        assert client.get(reverse(f"admin:audience_{page}")).status_code == 302
    client.force_login(User.objects.create_user("bob", is_staff=True))
    assert client.post(reverse("admin:audience_person")).status_code == 403


# --- Counting -------------------------------------------------------------------------------------


def test_counting_shows_ten_of_them_with_what_the_rules_asked(desk: Desk, project: Project) -> None:
    for number in range(12):
        make_contact(project, external_id=f"p{number:02}", attributes={"plan": "pro", "x": "no"})
    make_contact(project, external_id="free1", attributes={"plan": "free"})
    text = ask(desk, "count", project, {"all": [PRO]})
    assert "People 12" in text and "plan: pro" in text
    assert "p11" in text and "p02" in text  # the newest ten
    assert "p01" not in text and "free1" not in text and "x: no" not in text
    assert "Estimated" not in text
    assert ask(desk, "people", project, {"all": [PRO]}).count("plan: pro") >= 1


def test_a_count_that_takes_too_long_is_estimated_and_says_so(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_people(project, 40)
    real = reach.count

    def slow(*args: Any, **options: Any) -> reach.Reach:
        if options["part"] is None:  # no part of them
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_sleep(5)")
        return real(*args, **options)

    monkeypatch.setattr(reach, "count", slow)
    everybody = estimating.Part(joined(None), times=20, pages={0: 40})
    monkeypatch.setattr(estimating, "part", lambda *_: everybody)
    text = ask(desk, "count", project, {"all": []})
    assert "People about 800 ± " in text and "Estimated from a part of the people" in text
    assert "This holds 95 times in 100." in text


def test_nobody_left_says_so_and_where_to_look(desk: Desk, project: Project) -> None:
    make_contact(project)
    assert "Nobody matches these rules now" in ask(desk, "count", project, {"any": []})


def test_a_project_without_people_says_where_they_come_from(desk: Desk, project: Project) -> None:
    text = ask(desk, "count", project, {"all": []})
    assert "This project has no people yet" in text and "Nobody matches" not in text


def test_a_rule_on_an_attribute_that_vanished_says_so(desk: Desk, project: Project) -> None:
    make_contact(project, attributes={"plan": "pro"})
    tier = {"field": "attributes.tier", "op": "eq", "value": "gold"}
    text = ask(desk, "count", project, {"any": [tier, PRO]})
    assert "No person has the attribute “tier”: your app has renamed it" in text
    assert "“plan”" not in text
    more = {"field": "attributes.plan", "op": "gt", "value": 3}
    assert "“plan” contains no numbers" in ask(desk, "count", project, {"all": [more]})
    late = {"field": "attributes.plan", "op": "before", "value": "2026-01-01"}
    assert "“plan” contains no dates" in ask(desk, "count", project, {"all": [late]})
    tea = {"field": "attributes.plan", "op": "has", "value": "tea"}
    assert "“plan” contains no lists" in ask(desk, "count", project, {"all": [tea]})


def test_letters_are_looked_for_in_texts_and_a_rule_that_cannot_find_any_says_so(
    desk: Desk, project: Project
) -> None:
    make_contact(project, attributes={"likes": ["transport"], "since": "2026-05-31"})
    sport = {"field": "attributes.likes", "op": "contains", "value": "sport"}
    assert "“likes” contains no text" in ask(desk, "count", project, {"all": [sport]})
    may = {"field": "attributes.since", "op": "starts_with", "value": "2026-05"}
    assert "holds no" not in ask(desk, "count", project, {"all": [may]})


def test_a_suppressed_person_is_said_to_be_that_before_being_in(
    desk: Desk, project: Project
) -> None:
    for name in ("ada", "bo"):
        make_contact(project, external_id=name, attributes={"plan": "pro"})
    suppress(project, ["ada"], reason="", by="x", now=timezone.now())
    told = ask(desk, "person", project, {"all": [PRO]}, person="ada")
    assert told.index("Suppressed: nothing is sent to this person.") < told.index("ada is in.")
    assert "Suppressed" not in ask(desk, "person", project, {"all": [PRO]}, person="bo")


def test_why_somebody_is_in_shows_the_list_a_rule_looked_into(desk: Desk, project: Project) -> None:
    make_contact(project, external_id="ada", attributes={"likes": ["tea", "sport"]})
    sport = {"field": "attributes.likes", "op": "has", "value": "sport"}
    told = ask(desk, "person", project, {"all": [sport]}, person="ada")
    assert "likes has sport" in told and "sport" in told and "tea" in told
    out = ask(desk, "person", project, {"all": [{**sport, "value": "port"}]}, person="ada")
    assert "likes has port" in out and "not in" in out


def test_a_wrong_rule_is_named_by_its_place_among_the_blocks(desk: Desk, project: Project) -> None:
    unfinished = {"field": "attributes.plan", "op": "eq", "value": None}
    reply = desk.post(
        "audience_count",
        project=project.pk,
        rules=json.dumps({"all": [PRO, {"any": [unfinished]}]}),
    )
    assert "Rule 2.1, value: must be a text, number or true/false." in text_of(reply)
    assert 'data-path="rules.all[1].any[0]"' in reply.content.decode()


# --- In, and why ----------------------------------------------------------------------------------


def test_who_is_not_in_learns_which_rules_failed_and_what_they_saw(
    desk: Desk, project: Project
) -> None:
    make_contact(project, external_id="u1", attributes={"plan": "free"}, locale="ko")
    korean = {"field": "locale", "op": "eq", "value": "ko"}
    text = ask(desk, "person", project, {"all": [PRO, korean]}, person="u1")
    assert "u1 is not in." in text
    because, _, whole = text.partition("All rules")
    assert "no plan is pro (it is free)" in because and "locale" not in because
    assert "yes locale is ko (it is ko)" in whole


def test_a_rule_inside_a_not_is_said_the_way_round_it_counts(desk: Desk, project: Project) -> None:
    make_contact(project, external_id="u1", attributes={"plan": "pro"})
    text = ask(desk, "person", project, {"not": {"any": [PRO]}}, person="u1")
    assert "u1 is not in." in text and "no plan is not pro (it is pro)" in text
    assert "None of these" in ask(
        desk, "person", project, {"not": {"any": [PRO, PRO]}}, person="u1"
    )


def test_who_is_in_learns_on_which_devices(desk: Desk, project: Project) -> None:
    contact = make_contact(project, external_id="u1")
    seen = timezone.now() - timedelta(days=3)
    make_device(contact, platform="ios", last_seen_at=seen)
    make_device(contact, platform="android")
    phone = {"field": "platform", "op": "eq", "value": "ios"}
    text = ask(desk, "person", project, phone, person="u1")
    assert "u1 is in. On 1 of their 2 devices." in text
    assert "not in Android" in text and "in iOS" in text


def test_who_is_in_without_a_device_is_not_promised_anything(desk: Desk, project: Project) -> None:
    make_contact(project, external_id="u1", attributes={})
    text = ask(desk, "person", project, {"all": []}, person="u1")
    assert "u1 is in. They have no device that can receive" in text
    rule = {"field": "attributes.plan", "op": "exists"}
    assert "no plan is known (not known)" in ask(desk, "person", project, rule, person="u1")


def test_a_person_of_another_project_is_nobody_here(desk: Desk, project: Project) -> None:
    make_contact(make_project(), external_id="theirs")
    assert "No person “theirs” in" in ask(desk, "person", project, {"all": []}, person="theirs")
    assert "Type the person's external id" in ask(desk, "person", project, {"all": []}, person=" ")


# --- Last seen: the device, or its person? --------------------------------------------------------


def test_the_builder_offers_both_last_seen_and_says_which_is_which(
    desk: Desk, project: Project
) -> None:
    fields = choices(desk, project)["fields"]
    person, device = fields["person_seen_at"], fields["last_seen_at"]
    assert (person["label"], person["group"]) == ("person last seen", "Person")
    assert (device["label"], device["group"]) == ("device last seen", "Device")
    assert person["hint"] and device["hint"] and person["hint"] != device["hint"]
    assert person["ops"] == device["ops"]


def test_a_rule_about_devices_not_seen_shows_the_count_of_both_ways_to_ask(
    desk: Desk, project: Project
) -> None:
    ada, now = make_contact(project), timezone.now()
    make_device(ada, last_seen_at=now)
    make_device(ada, last_seen_at=now - timedelta(days=90))
    by_device = {"not": {"field": "last_seen_at", "op": "within_last", "value": "P30D"}}
    said = ask(desk, "count", project, by_device)
    assert "the old phone of somebody who used another phone yesterday" in said
    assert "Devices with this rule: 1. With when the person was last seen: 0." in said

    by_person = {"not": {"field": "person_seen_at", "op": "within_last", "value": "P30D"}}
    assert "old phone" not in ask(desk, "count", project, by_person)
