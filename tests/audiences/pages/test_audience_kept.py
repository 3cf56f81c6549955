"""An audience that others use, copy, look at or change at the same time."""

from __future__ import annotations

import json
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from campaigns.audiences.audience import Audience, Member
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from notifications.staff.team import Role, TeamMember
from tests.admin.desk import Desk, text_of
from tests.given.at_once import at_once
from tests.given.builders import make_audience, make_campaign, make_contact

pytestmark = pytest.mark.django_db
PRO = {"field": "attributes.plan", "op": "eq", "value": "pro"}


# --- Used by, and copies --------------------------------------------------------------------------


def test_the_page_says_who_uses_the_audience(desk: Desk, project: Project) -> None:
    listed = make_audience(project, kind="list")
    make_audience(project, name="Both", rules={"field": "list", "op": "in", "value": [listed.pk]})
    make_campaign(project, name="Spring", audience=listed)
    text = desk.open("campaigns_audience_change", listed.pk)
    assert "Spring campaign" in text and "Both audience" in text
    assert "Nothing yet." in desk.open("campaigns_audience_change", make_audience(project).pk)


def test_a_copy_has_the_rules_a_name_of_its_own_and_an_entry_in_the_audit(
    desk: Desk, project: Project
) -> None:
    audience = make_audience(project, name="VIPs", rules={"all": [PRO]})
    desk.confirm("campaigns_audience_duplicate", audience.pk)
    desk.confirm("campaigns_audience_duplicate", audience.pk)
    copies = Audience.objects.exclude(pk=audience.pk)
    assert {copy.name for copy in copies} == {"VIPs (copy)", "VIPs (copy 2)"}
    assert all(copy.rules == {"all": [PRO]} for copy in copies)
    assert AuditEntry.objects.filter(detail__copied_from=audience.pk).count() == 2


def test_a_copied_list_has_everybody_who_is_on_it(desk: Desk, project: Project) -> None:
    listed = make_audience(project, name="Testers", kind="list")
    for number in range(3):
        Member.objects.create(
            audience=listed, contact=make_contact(project, external_id=f"m{number}")
        )
    desk.confirm("campaigns_audience_duplicate", listed.pk)
    copy = Audience.objects.get(name="Testers (copy)")
    assert set(copy.members.values_list("contact__external_id", flat=True)) == {"m0", "m1", "m2"}
    assert listed.members.count() == 3


def test_who_may_only_look_sees_the_rules_in_words_and_who_it_is(
    client: Client, project: Project
) -> None:
    viewer = User.objects.create_user("vera", is_staff=True)
    TeamMember.objects.create(user=viewer, role=Role.VIEWER)
    client.force_login(viewer)
    make_contact(project, attributes={"plan": "pro"})
    audience = make_audience(project, rules={"all": [PRO]})
    page = client.get(reverse("admin:campaigns_audience_change", args=[audience.pk]))
    assert "plan is pro" in text_of(page)
    assert "rulesBuilder" not in page.content.decode()
    reply = Desk(client).post("audience_count", project=project.pk, audience=audience.pk)
    assert "People 1" in text_of(reply)


def test_what_was_counted_on_its_page_stands_in_the_list(desk: Desk, project: Project) -> None:
    make_contact(project, attributes={"plan": "pro"})
    audience = make_audience(project, rules={"all": [PRO]})
    written = json.dumps({"all": [dict(reversed(PRO.items()))]})  # JSON knows no order of keys
    desk.post("audience_count", project=project.pk, audience=audience.pk, rules=written)
    page = desk.open("campaigns_audience_changelist")
    assert "1 person, 0 devices" in page and "not counted yet" not in page


# --- Two at once ----------------------------------------------------------------------------------


def seen_in(page: Any) -> str:
    return unescape(page.content.decode().partition('name="seen" value="')[2].partition('"')[0])


def seen_by(desk: Desk, audience: Audience) -> str:
    address = reverse("admin:campaigns_audience_change", args=[audience.pk])
    return seen_in(desk.client.get(address))


def test_the_second_to_save_sees_what_the_first_saved_and_loses_nothing(
    desk: Desk, project: Project
) -> None:
    audience = make_audience(project, name="VIPs", rules={"all": []})
    seen = seen_by(desk, audience)
    values = {"name": "VIPs", "kind": "rules", "mode": "add"}
    first = json.dumps({"all": [PRO]})
    desk.save("campaigns_audience_change", audience.pk, **values, rules=first, seen=seen)

    second = json.dumps({"any": []})
    page = desk.client.post(
        reverse("admin:campaigns_audience_change", args=[audience.pk]),
        {**values, "rules": second, "seen": seen},
    )
    audience.refresh_from_db()
    assert audience.rules == {"all": [PRO]}
    assert "ada saved this audience on" in text_of(page)
    assert "Theirs is “VIPs”: plan is pro." in text_of(page)
    assert '{"any": []}' in text_of(page)  # what was typed is still there

    now_seen = seen_in(page)
    assert now_seen == seen_by(desk, audience) != seen
    desk.save("campaigns_audience_change", audience.pk, **values, rules=second, seen=now_seen)
    audience.refresh_from_db()
    assert audience.rules == {"any": []}


def test_what_only_a_colleague_changed_is_brought_in(desk: Desk, project: Project) -> None:
    audience = make_audience(project, name="VIPs", rules={"all": []})
    seen, rules = seen_by(desk, audience), json.dumps({"all": [PRO]})
    values = {"kind": "rules", "mode": "add"}
    renamed = {**values, "name": "Very important", "rules": json.dumps({"all": []})}
    desk.save("campaigns_audience_change", audience.pk, **renamed, seen=seen)

    mine = {**values, "name": "VIPs", "rules": rules, "seen": seen}
    page = desk.post("campaigns_audience_change", audience.pk, **mine)
    audience.refresh_from_db()
    assert (audience.name, audience.rules) == ("Very important", {"all": []})
    assert "Their changes were kept: Name." in text_of(page)
    assert 'value="Very important"' in page.content.decode()
    assert "attributes.plan" in page.content.decode()  # mine


@pytest.mark.django_db(transaction=True)
def test_of_two_who_save_an_audience_at_once_the_second_sees_what_the_first_saved(
    desk: Desk, project: Project
) -> None:
    audience = make_audience(project, name="VIPs", rules={"all": []})
    values = {"name": "VIPs", "kind": "rules", "mode": "add", "seen": seen_by(desk, audience)}

    def save(rules: object) -> object:
        said = {**values, "rules": json.dumps(rules)}
        return desk.post("campaigns_audience_change", audience.pk, **said)

    reply = at_once(first=lambda: save({"all": [PRO]}), second=lambda: save({"any": []}))
    audience.refresh_from_db()
    assert audience.rules == {"all": [PRO]}
    assert "Theirs is “VIPs”: plan is pro." in text_of(reply)


def test_saving_the_same_as_a_colleague_is_no_dispute(desk: Desk, project: Project) -> None:
    audience = make_audience(project, name="VIPs", rules={"all": [PRO]})
    values = {"name": "VIPs", "kind": "rules", "mode": "add", "rules": json.dumps({"all": [PRO]})}
    page = desk.save("campaigns_audience_change", audience.pk, **values, seen="long ago")
    assert "while you were editing" not in page
