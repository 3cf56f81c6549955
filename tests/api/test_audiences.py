"""Audiences through the API: saved, estimated, explained, and kept while somebody needs them."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from campaigns.audiences import estimating, selection, why
from campaigns.audiences.audience import Audience
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import (
    make_audience,
    make_campaign,
    make_contact,
    make_device,
    make_people,
)

PRO = {"field": "attributes.plan", "op": "eq", "value": "pro"}


def test_rules_are_saved_and_shown_as_they_came(alice: Caller) -> None:
    made = alice.post("audiences", {"name": "Pro", "rules": {"all": [PRO]}})
    assert made.status_code == 201
    shown = alice.get(f"audiences/{made.json()['id']}").json()
    assert (shown["name"], shown["kind"], shown["rules"]) == ("Pro", "rules", {"all": [PRO]})
    assert shown == made.json()


@pytest.mark.parametrize(
    "rules",
    [
        {"field": "shoe_size", "op": "eq", "value": 1},
        {"field": "locale", "op": "like", "value": "k%"},
        {"all": {}},
        {"all": [], "any": []},
        {},
        {"not": {"not": {"not": {"not": {"not": {"not": {"all": []}}}}}}},
        {"field": "list", "op": "eq", "value": 1},
    ],
)
def test_rules_that_make_no_sense_are_refused(alice: Caller, rules: Any) -> None:
    for path, body in (("audiences", {"name": "A", "rules": rules}),
                       ("audiences/estimate", {"rules": rules})):  # fmt: skip
        response = alice.post(path, body)
        assert response.status_code == 400
        assert set(fields_at_fault(response)) == {"rules"}
    assert not Audience.objects.exists()


def test_the_list_of_another_project_is_no_list(
    alice: Caller, charlie: Caller, ours: Project
) -> None:
    theirs = make_audience(charlie.project, kind="list")
    rules = {"field": "list", "op": "eq", "value": theirs.pk}
    assert alice.post("audiences/estimate", {"rules": rules}).status_code == 400


def test_a_static_list_holds_the_people_it_names(alice: Caller, ours: Project) -> None:
    one, two = make_contact(ours), make_contact(ours)
    ids = [one.external_id, two.external_id, one.external_id]
    made = alice.post("audiences", {"name": "VIP", "contacts": ids})
    assert made.status_code == 201
    assert made.json()["kind"] == "list"
    audience = Audience.objects.get()
    assert set(audience.members.values_list("contact", flat=True)) == {one.pk, two.pk}

    alice.put(f"audiences/{audience.pk}", {"name": "VIP", "contacts": [two.external_id]})
    assert audience.members.get().contact == two
    alice.put(f"audiences/{audience.pk}", {"name": "Just renamed"})
    assert audience.members.get().contact == two


def test_a_list_with_a_stranger_is_refused_whole(
    alice: Caller, charlie: Caller, ours: Project
) -> None:
    known, theirs = make_contact(ours), make_contact(charlie.project)
    body = {"name": "VIP", "contacts": [known.external_id, theirs.external_id]}
    response = alice.post("audiences", body)
    assert response.status_code == 400
    assert fields_at_fault(response) == ["contacts"]
    assert theirs.external_id in response.content.decode()
    assert not Audience.objects.exists()


@pytest.mark.parametrize(
    "body", [{"name": "A"}, {"name": "A", "rules": {"all": []}, "contacts": []}]
)
def test_an_audience_is_rules_or_a_list(alice: Caller, body: Any) -> None:
    assert alice.post("audiences", body).status_code == 400
    assert not Audience.objects.exists()


def test_the_kind_of_an_audience_never_changes(alice: Caller, ours: Project) -> None:
    rules, static = make_audience(ours), make_audience(ours, kind="list")
    answer = alice.put(f"audiences/{rules.pk}", {"name": "A", "contacts": []})
    assert fields_at_fault(answer) == ["contacts"]
    answer = alice.put(f"audiences/{static.pk}", {"name": "A", "rules": {"all": []}})
    assert fields_at_fault(answer) == ["rules"]


def test_put_replaces_the_rules(alice: Caller, ours: Project) -> None:
    audience = make_audience(ours)
    answer = alice.put(f"audiences/{audience.pk}", {"name": "New", "rules": PRO})
    assert answer.status_code == 200
    audience.refresh_from_db()
    assert (audience.name, audience.rules) == ("New", PRO)


def test_what_nobody_uses_can_be_deleted_and_is_recorded(alice: Caller, ours: Project) -> None:
    audience = make_audience(ours)
    assert alice.delete(f"audiences/{audience.pk}").status_code == 204
    entry = AuditEntry.objects.get()
    kept = (entry.action, entry.subject_kind, entry.subject_id, entry.subject_name)
    assert kept == ("deleted", "audience", audience.pk, audience.name)
    assert alice.get(f"audiences/{audience.pk}").status_code == 404


def test_what_a_campaign_uses_stays(alice: Caller, ours: Project) -> None:
    campaign = make_campaign(ours)
    for path in (f"audiences/{campaign.audience_id}", f"templates/{campaign.template_id}"):
        response = alice.delete(path)
        assert response.status_code == 409
        assert f"campaign {campaign.pk}" in response.json()["detail"]
        assert alice.get(path).status_code == 200
    assert not AuditEntry.objects.exists()


def test_an_estimate_counts_people_and_devices(alice: Caller, ours: Project) -> None:
    two_devices = make_contact(ours, attributes={"plan": "pro"})
    make_device(two_devices)
    make_device(two_devices)
    make_people(ours, 3)
    answer = alice.post("audiences/estimate", {"rules": PRO}).json()
    assert (answer["contacts"], answer["devices"], answer["exact"]) == (1, 2, True)
    assert answer["margin"] is None
    assert isinstance(answer["took_ms"], int)


def test_an_estimate_warns_of_rules_that_do_not_see_removed_events(
    alice: Caller, ours: Project
) -> None:
    rule = {"field": "event", "op": "did_not", "value": {"name": "bought"}}
    (warning,) = alice.post("audiences/estimate", {"rules": rule}).json()["warnings"]
    assert warning["code"] == "events_removed"
    assert "did not do “bought”" in warning["message"]
    assert alice.post("audiences/estimate", {"rules": PRO}).json()["warnings"] == []

    rule["value"] = {"name": "bought", "within": "P401DT1H"}
    refused = alice.post("audiences", {"name": "Lapsed", "rules": rule})
    assert refused.status_code == 400
    assert fields_at_fault(refused) == ["rules"]
    assert "events are kept only since" in refused.content.decode()


def test_an_estimate_sees_only_the_own_project(alice: Caller, charlie: Caller) -> None:
    make_people(charlie.project, 2)
    assert alice.post("audiences/estimate", {"rules": {"all": []}}).json()["contacts"] == 0


def test_a_count_that_takes_too_long_is_made_on_a_sample(
    alice: Caller, ours: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(estimating, "MOST", 100.0)
    make_people(ours, 3)
    with connection.execute_wrapper(_slow_unless_sampled):
        told = alice.post("audiences/estimate", {"rules": {"all": []}}).json()
    assert (told["contacts"], told["devices"], told["exact"]) == (3, 3, False)
    assert set(told["margin"]) == {"contacts", "devices"}
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() == ("0",)


def _slow_unless_sampled(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
    if "GROUP BY c.id" in sql and "TABLESAMPLE" not in sql:
        return execute("SELECT pg_sleep(1)", None, False, context)
    return execute(sql, params, many, context)


def test_a_part_is_of_people_not_of_the_table_however_large_it_grows(ours: Project) -> None:
    """Twenty times as many people, and an estimate reads no more of them than before."""
    make_people(ours, 1_000)
    looked_at = []
    for times in (1, 20):
        with connection.cursor() as cursor:
            cursor.execute(  # what ANALYZE writes
                "SELECT pg_restore_relation_stats('schemaname', 'public', 'relname', "
                "'notifications_contact', 'reltuples', %s::real)",
                [times * 500_000],
            )
        part = estimating.part()
        looked_at.append(times * 500_000 / part.times)
    assert looked_at == [pytest.approx(estimating.PEOPLE, rel=0.01)] * 2


def test_a_part_looks_its_devices_up_instead_of_reading_all_of_them(ours: Project) -> None:
    make_people(ours, 1_000)
    with connection.cursor() as cursor:
        # Of an empty table any index would do, and of a few rows all are read at once.
        cursor.execute("ANALYZE notifications_contact, notifications_device")
        cursor.execute(f"EXPLAIN SELECT count(d.id) FROM {estimating.part().source}")
        plan = "\n".join(row[0] for row in cursor.fetchall())
    assert "Sample Scan on notifications_contact" in plan
    assert "Index Cond: (contact_id = c.id)" in plan
    assert "Seq Scan" not in plan and "Hash" not in plan


def test_an_explanation_shows_the_rules_as_they_were_saved(alice: Caller, ours: Project) -> None:
    for _ in range(2):
        make_device(make_contact(ours))
    contact = make_contact(ours, external_id="ada")
    make_device(contact)
    saved: list[Any] = [
        {"field": "people", "op": "lte", "value": {"most": 1, "seed": "a"}},
        {"not": {"field": "run", "op": "was", "value": {"outcome": "accepted"}}},
        {"field": "event", "op": "did_not", "value": {"name": "bought"}},
    ]
    audience = make_audience(ours, rules={"all": saved})
    shown = alice.get(f"audiences/{audience.pk}/explain?contact=ada").json()["rules"]["all"]
    leaves = {leaf["field"]: leaf for leaf in (one.get("not", one) for one in shown)}
    asked = {leaf["field"]: leaf["value"] for leaf in (one.get("not", one) for one in saved)}
    assert {field: leaf["value"] for field, leaf in leaves.items()} == asked
    # Who of the three is drawn depends on their numbers.
    drawn = ("not among the first 1", "the 1st of the first 1")
    assert leaves["people"]["seen"] in ("not among those the other rules find", *drawn)


def test_an_explanation_of_at_most_so_many_says_which_place_somebody_has(
    alice: Caller, ours: Project
) -> None:
    for number in range(5):
        make_device(make_contact(ours, external_id=f"pro-{number}", attributes={"plan": "pro"}))
        make_device(make_contact(ours, external_id=f"free-{number}"))
    asked = {"field": "people", "op": "lte", "value": {"most": 3}}
    audience = make_audience(ours, rules={"all": [PRO, asked]})

    def seen(name: str) -> str:
        told = alice.get(f"audiences/{audience.pk}/explain?contact={name}").json()
        return str(told["rules"]["all"][1]["seen"])

    assert sorted(seen(f"pro-{number}") for number in range(5)) == [
        *["not among the first 3"] * 2,
        *("the 1st of the first 3", "the 2nd of the first 3", "the 3rd of the first 3"),
    ]
    assert seen("free-1") == "not among those the other rules find"


def test_a_place_that_cannot_be_found_in_time_is_left_out_of_the_explanation(
    alice: Caller, ours: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_device(make_contact(ours, external_id="ada"))
    rules = {"all": [{"field": "people", "op": "lte", "value": {"most": 3}}]}
    audience = make_audience(ours, rules=rules)

    def slowly(*asked: Any) -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(9)")
        return 1

    monkeypatch.setattr(why, "PLACE_SECONDS", 0.01)
    monkeypatch.setattr(selection, "nth", slowly)
    told = alice.get(f"audiences/{audience.pk}/explain?contact=ada").json()
    assert told["selected"] and told["rules"]["all"][0]["seen"] == "among the first 3"


def test_an_explanation_says_what_was_seen(alice: Caller, ours: Project) -> None:
    contact = make_contact(ours, attributes={"plan": "free"})
    make_device(contact, platform="ios")
    audience = make_audience(
        ours, rules={"all": [PRO, {"field": "platform", "op": "eq", "value": "ios"}]}
    )
    told = alice.get(f"audiences/{audience.pk}/explain?contact={contact.external_id}").json()
    assert (told["selected"], told["devices"]) == (False, 0)
    plan, platform = told["rules"]["all"]
    assert (plan["holds"], plan["seen"]) == (False, "free")
    assert (platform["holds"], platform["seen"]) == (True, "ios")


def test_each_rule_may_hold_for_another_device_and_then_nobody_is_selected(
    alice: Caller, ours: Project
) -> None:
    contact = make_contact(ours)
    make_device(contact, platform="ios", app_version="1.0")
    make_device(contact, platform="android", app_version="2.0")
    ios_on_2 = [
        {"field": "platform", "op": "eq", "value": "ios"},
        {"field": "app_version", "op": "eq", "value": "2.0"},
    ]
    audience = make_audience(ours, rules={"all": ios_on_2})
    told = alice.get(f"audiences/{audience.pk}/explain?contact={contact.external_id}").json()
    assert (told["selected"], told["devices"]) == (False, 0)


@pytest.mark.parametrize("query", ["", "?contact=", "?contact=nobody", "?contact=%00"])
def test_an_explanation_needs_a_person(alice: Caller, ours: Project, query: str) -> None:
    response = alice.get(f"audiences/{make_audience(ours).pk}/explain{query}")
    assert response.status_code == 400
    assert fields_at_fault(response) == ["contact"]
