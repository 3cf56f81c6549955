"""Audiences by hand: rules as JSON with errors that name the place, and pasted lists."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.utils import timezone

from campaigns import control
from campaigns.audiences.audience import Audience, Member
from campaigns.audiences.words import sentence
from notifications.people.consent.suppression import Suppression
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from notifications.staff.team import Role
from tests.admin.desk import Desk, text_of
from tests.given.builders import (
    make_audience,
    make_campaign,
    make_contact,
    make_device,
    make_people,
    make_project,
)
from tests.roles.people import logged_in

pytestmark = pytest.mark.django_db
PRO = {"field": "attributes.plan", "op": "eq", "value": "pro"}


def form(**values: Any) -> dict[str, Any]:
    return {"name": "VIPs", "kind": "rules", "mode": "add", "rules": '{"all": []}', **values}


def make_list(project: Project, *external_ids: str) -> Audience:
    audience = make_audience(project, kind="list")
    for external_id in external_ids:
        contact = make_contact(project, external_id=external_id)
        Member.objects.create(audience=audience, contact=contact)
    return audience


def members_of(audience: Audience) -> set[str]:
    return set(audience.members.values_list("contact__external_id", flat=True))


def test_saving_rules_keeps_them_and_says_who_did_it(desk: Desk, project: Project) -> None:
    desk.save("campaigns_audience_add", **form(rules=json.dumps({"all": [PRO]})))
    audience = Audience.objects.get()
    assert (audience.project, audience.rules) == (project, {"all": [PRO]})
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.action, entry.about) == ("user:ada", "created", "audience VIPs")


def test_empty_rules_mean_everyone(desk: Desk, project: Project) -> None:
    desk.save("campaigns_audience_add", **form(rules=""))
    assert Audience.objects.get().rules == {"all": []}


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (
            '{"all": [\n  {"field": "locale" "op": "eq"}\n]}',
            "line 2, column 22: a comma is missing",
        ),
        ('{"all": [{"field": "plan", "op": "eq", "value": 1}]}', "Rule 1, field: unknown"),
        (
            '{"all": [{"field": "locale", "op": "gt", "value": "a"}]}',
            "Rule 1, comparison: “gt” cannot be used",
        ),
        ('{"all": [{"field": "list", "op": "eq", "value": 7}]}', "there is no static list 7"),
        ('{"all": [NaN]}', "NaN is not a number"),
        ('{"all": ["\\u0000"]}', "cannot be stored"),
        ('{"all": [1e999]}', "1e999 is too large a number"),
        ('{"all": [' + "9" * 5_000 + "]}", "too large a number"),
        ("[" * 2_000, "Nested deeper than 32 levels"),
        ("[" * 500 + "]" * 500, "Nested deeper than 32 levels"),
        ("[]", "must be an object"),
    ],
)
def test_wrong_rules_are_refused_with_place_and_fix_and_given_back(
    desk: Desk, project: Project, rules: str, said: str
) -> None:
    page = desk.save("campaigns_audience_add", **form(rules=rules))
    assert said in page
    assert rules.splitlines()[0] in page
    assert not Audience.objects.exists()


def test_a_second_audience_of_the_same_name_is_refused_not_a_crash(
    desk: Desk, project: Project
) -> None:
    make_audience(project, name="VIPs")
    assert "has this name already" in desk.save("campaigns_audience_add", **form())
    other = make_audience(project, name="Others")
    assert "has this name already" in desk.save("campaigns_audience_change", other.pk, **form())


def test_pasted_people_are_put_on_a_list(desk: Desk, project: Project) -> None:
    for external_id in ("u1", "u2"):
        make_contact(project, external_id=external_id)
    page = desk.save(
        "campaigns_audience_add", **form(kind="list", people="u1\n\n u2 ,\nu1", rules="{")
    )
    assert "2 people added." in page
    assert members_of(Audience.objects.get()) == {"u1", "u2"}


def test_an_unknown_id_is_named_by_its_line_and_nothing_changes(
    desk: Desk, project: Project
) -> None:
    audience = make_list(project, "u1")
    make_contact(project, external_id="u2")
    make_contact(make_project(), external_id="theirs")
    Project.objects.exclude(pk=project.pk).update(name="Other")

    pasted = "u2\nghost\ntheirs"
    page = desk.save("campaigns_audience_change", audience.pk, **form(kind="list", people=pasted))

    assert "Line 2: no person “ghost” in this project." in page
    assert "Line 3: no person “theirs” in this project." in page
    assert "Nothing was changed." in page and pasted.replace("\n", " ") in page
    assert members_of(audience) == {"u1"}


@pytest.mark.parametrize(
    ("mode", "left"), [("add", {"u1", "u2", "u3"}), ("remove", {"u1"}), ("replace", {"u2", "u3"})]
)
def test_pasted_people_are_added_removed_or_all_there_is(
    desk: Desk, project: Project, mode: str, left: set[str]
) -> None:
    audience = make_list(project, "u1", "u2")
    make_contact(project, external_id="u3")
    desk.save(
        "campaigns_audience_change", audience.pk, **form(kind="list", mode=mode, people="u2\nu3")
    )
    assert members_of(audience) == left


def test_counting_says_people_devices_and_the_rules_in_words(desk: Desk, project: Project) -> None:
    make_people(project, 2)
    make_contact(project, attributes={"plan": "pro"})
    reply = desk.post("audience_count", project=project.pk, kind="rules", rules='{"all": []}')
    text = text_of(reply)
    assert "In words: everyone." in text
    assert "People 3" in text and "Reachable devices 2" in text and "Android 2" in text
    assert "1 of these people has no device" in text
    rules = json.dumps({"all": [PRO]})
    assert "People 1" in text_of(desk.post("audience_count", project=project.pk, rules=rules))


def test_devices_of_people_who_are_out_are_not_called_reachable(
    desk: Desk, project: Project
) -> None:
    for name in ("ada", "bob", "cay", "dan"):
        make_device(make_contact(project, external_id=name, subscribed=name != "bob"))
    for name in ("bob", "cay"):
        Suppression.objects.create(project=project, external_id=name, at=timezone.now())
    audience = make_audience(project)

    text = text_of(desk.post("audience_count", audience=audience.pk, project=project.pk))

    assert (
        "People 4 Reachable devices 2 4 devices are active; 2 of them belong to people who" in text
    )
    assert "Active devices by platform: Android 4" in text


def test_counting_wrong_rules_says_what_is_wrong(desk: Desk, project: Project) -> None:
    text = text_of(desk.post("audience_count", project=project.pk, rules='{"al": 1}'))
    assert "cannot be counted yet" in text and "unknown key “al”" in text
    assert "Choose a project first" in text_of(desk.post("audience_count", rules="{}"))
    assert desk.client.get("/admin/campaigns/audience/count/").status_code == 405


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ("[" * 2_000, "Nested deeper than 32 levels"),
        ("9" * 5_000, "too large a number"),
        ('{"field": "attributes.points", "op": "gt", "value": -1e999}', "-1e999 is too large"),
    ],
)
def test_whatever_a_viewer_has_counted_is_answered_with_words(
    project: Project, rules: str, said: str
) -> None:
    desk = Desk(logged_in(Role.VIEWER))
    reply = desk.post("audience_count", project=project.pk, kind="rules", rules=rules)
    assert (reply.status_code, said in text_of(reply)) == (200, True)


def test_an_audience_in_use_is_not_deleted_and_says_by_whom(desk: Desk, project: Project) -> None:
    audience = make_list(project)
    make_audience(project, name="Both", rules={"field": "list", "op": "eq", "value": audience.pk})
    campaign = make_campaign(project, name="Spring", audience=audience)
    run = control.launch(campaign, by="user:ada", now=timezone.now())

    page = desk.save("campaigns_audience_delete", audience.pk, post="yes")
    assert "the campaign “Spring”" in page and "the rules of the audience “Both”" in page
    assert f"run {run.pk}" in page
    assert Audience.objects.filter(pk=audience.pk).exists()


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        ({"all": []}, "everyone"),
        ({"any": []}, "nobody"),
        ({"all": [PRO, {"any": [PRO, PRO]}]}, "plan is pro and (plan is pro or plan is pro)"),
        ({"not": PRO}, "plan is not pro"),
        ({"not": {"any": [PRO, PRO]}}, "not (plan is pro or plan is pro)"),
        ({"field": "last_seen_at", "op": "within_last", "value": "P30D"},
         "device last seen is within the last 30 days"),
        ({"field": "attributes.vip", "op": "eq", "value": True}, "vip is true"),
        ({"field": "locale", "op": "in", "value": list("abcdefgh")},
         "locale is one of a, b, c, d, e, f and 2 more"),
        ({"field": "attributes.plan", "op": "exists"}, "plan is known"),
        ({"field": "attributes.likes", "op": "has", "value": "tea"}, "likes has tea"),
        ({"not": {"field": "attributes.likes", "op": "has", "value": "tea"}},
         "likes does not have tea"),
        ({"field": "attributes.likes", "op": "has_any", "value": ["tea", 5]},
         "likes has one of tea, 5"),
        ({"not": {"field": "attributes.likes", "op": "has_none", "value": ["tea"]}},
         "likes has tea"),
    ],
)  # fmt: skip
def test_rules_read_as_a_sentence(project: Project, tree: dict[str, Any], said: str) -> None:
    assert sentence(tree, project_id=project.pk) == said
