"""“At most n people”: exactly as many, and the same ones for whoever asks."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import override

from campaigns.audiences import audience, estimating, reach, selection, why, words
from campaigns.audiences.behavior import at_most
from campaigns.audiences.lists import filling
from campaigns.engine import engine
from campaigns.runs import series
from campaigns.runs.ledger import Recipient
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.given.builders import (
    make_audience,
    make_contact,
    make_device,
    make_people,
    make_project,
    make_run,
)

PRO = {"field": "attributes.plan", "op": "eq", "value": "pro"}


def most(count: int, **more: Any) -> dict[str, Any]:
    return {"field": "people", "op": "lte", "value": {"most": count, **more}}


@pytest.fixture
def people(project: Project) -> list[Contact]:
    """Thirty: each third is pro, each fifth has two devices; one has none."""
    found = [
        make_contact(project, external_id=f"u{n}", attributes={"plan": "pro" if n % 3 else "free"})
        for n in range(30)
    ]
    for n, one in enumerate(found[1:]):
        for _ in range(1 if n % 5 else 2):
            make_device(one)
    return found


def selected(project: Project, tree: dict[str, Any]) -> set[str]:
    audience.validate_rules(tree, project_id=project.pk)
    return {one.external_id for one in selection.sample(project.pk, tree, size=100)}


@pytest.mark.parametrize("count", [1, 7, 12, 500])
def test_every_query_finds_the_same_people_and_no_more_than_allowed(
    project: Project, people: list[Contact], count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("campaigns.engine.freezing.DEVICES_AT_ONCE", 4)
    tree = {"all": [PRO, most(count)]}
    able = {one.external_id for one in people[1:] if one.attributes["plan"] == "pro"}

    found = selected(project, tree)
    run = make_run(project, audience=make_audience(project, rules=tree))
    while run.freezing:
        engine.advance(run.pk, now=timezone.now())
        run.refresh_from_db()

    assert len(found) == min(count, len(able)) and found <= able
    counted = reach.count(project.pk, tree)
    assert (counted.people, counted.reachable_people) == (len(found), len(found))
    assert {one.external_id for one in people if why.verdict(one, tree).is_in} == found
    rows = Recipient.objects.filter(run_id=run.pk)
    frozen = {Contact.objects.get(pk=row.contact_id).external_id for row in rows}
    assert (frozen, run.people, run.planned) == (found, len(found), counted.devices)


@pytest.mark.usefixtures("people")
def test_a_run_keeps_its_people_when_others_come_while_it_freezes(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("campaigns.engine.freezing.DEVICES_AT_ONCE", 4)
    run = make_run(project, audience=make_audience(project, rules=most(10)))
    before = selected(project, most(10))
    make_people(project, 50)

    while run.freezing:
        engine.advance(run.pk, now=timezone.now())
        run.refresh_from_db()

    rows = Recipient.objects.filter(run_id=run.pk).values_list("contact_id", flat=True)
    assert {one.external_id for one in Contact.objects.filter(pk__in=rows)} == before


@pytest.mark.parametrize("fit_at_first", [4, 12])
def test_a_run_never_has_more_people_when_others_match_while_it_freezes(
    project: Project, fit_at_first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("campaigns.engine.freezing.DEVICES_AT_ONCE", 4)
    everybody = [make_contact(project, external_id=f"u{n}") for n in range(20)]
    for _ in range(2):  # each has a device among the first and one among the last
        for one in everybody:
            make_device(one)
    fitting = {one.pk for one in everybody[:fit_at_first]}
    Contact.objects.filter(pk__in=fitting).update(attributes={"plan": "pro"})
    run = make_run(project, audience=make_audience(project, rules={"all": [PRO, most(8)]}))
    begun = {*Recipient.objects.filter(run_id=run.pk).values_list("contact_id", flat=True)}
    Contact.objects.filter(project=project).update(attributes={"plan": "pro"})

    while run.freezing:
        engine.advance(run.pk, now=timezone.now())
        run.refresh_from_db()

    rows = Recipient.objects.filter(run_id=run.pk)
    found = {*rows.values_list("contact_id", flat=True)}
    assert (run.people, len(found), run.planned) == (8, 8, rows.count())
    assert begun <= found and rows.filter(contact_id__in=begun).count() == 2 * len(begun)
    assert [row.seq for row in rows.order_by("seq")] == [*range(1, rows.count() + 1)]


@pytest.mark.usefixtures("people")
def test_a_smaller_number_is_among_a_larger_one_and_another_seed_chooses_others(
    project: Project,
) -> None:
    assert selected(project, most(5)) < selected(project, most(15))
    assert selected(project, most(5, seed="a")) != selected(project, most(5, seed="b"))


@pytest.mark.usefixtures("people")
def test_a_part_of_the_people_takes_as_much_fewer(project: Project) -> None:
    half = estimating.Part(
        selection.joined(None).replace(
            "notifications_contact c",
            "(SELECT ctid, * FROM notifications_contact WHERE id %% 2 = 0) c",
        ),
        times=2,
    )
    assert reach.count(project.pk, most(10), part=half).people == 10


@pytest.mark.parametrize(
    "tree",
    [
        {"any": [most(5)]},
        {"not": most(5)},
        {"all": [{"all": [most(5)]}]},
        {"all": [most(5), most(6)]},
    ],
)
def test_a_number_of_people_stands_once_and_in_the_outermost_group(
    project: Project, tree: dict[str, Any]
) -> None:
    with pytest.raises(ValidationError, match="can stand once, in the outermost group"):
        audience.validate_rules(tree, project_id=project.pk)


def test_an_audience_that_has_it_cannot_be_in_another(project: Project) -> None:
    inner = make_audience(project, rules={"all": [PRO, most(5)]})
    outer = {"all": [PRO, {"field": "audience", "op": "eq", "value": inner.pk}]}
    with pytest.raises(ValidationError, match="together with the audiences they name"):
        audience.validate_rules(outer, project_id=project.pk)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (5, "must be such as"),
        ({"most": 0}, "“most” must be a whole number from 1 to 100,000,000"),
        ({"most": 1.5}, "“most” must be a whole number"),
        ({"most": True}, "“most” must be a whole number"),
        ({"most": 5, "seed": 1}, "“seed” must be a text"),
        ({"most": 5, "seed": "x" * 51}, "“seed” must be a text of at most 50"),
        ({"most": 5, "seed": "\x00"}, "“seed” must be a text"),
        ({"most": 5, "through": [0, 0]}, "remove “through” from the value"),
        ({"most": 5, "through": "x"}, "“through” must be two whole numbers"),
    ],
)
def test_an_impossible_number_of_people_is_refused(
    project: Project, value: Any, problem: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        audience.validate_rules(
            {"field": "people", "op": "lte", "value": value}, project_id=project.pk
        )
    assert problem in " ".join(refused.value.messages)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (10, "must be such as"),
        ({"percent": 0}, "“percent” must be a number above 0"),
        ({"percent": 101}, "“percent” must be a number above 0, and 100 at most"),
        ({"percent": float("nan")}, "“percent” must be a number"),
        ({"percent": "10"}, "“percent” must be a number"),
        ({"percent": 10, "seed": []}, "“seed” must be a text"),
        ({"percent": 10, "sead": ""}, "must be such as"),
    ],
)
def test_an_impossible_percentage_is_refused(project: Project, value: Any, problem: str) -> None:
    with pytest.raises(ValidationError) as refused:
        audience.validate_rules(
            {"field": "random", "op": "lte", "value": value}, project_id=project.pk
        )
    assert problem in " ".join(refused.value.messages)


def test_a_number_of_people_reads_as_a_sentence(project: Project) -> None:
    tree = {"all": [PRO, most(5_000, seed="spring")]}
    said = words.sentence(tree, project_id=project.pk)
    assert said == "plan is pro and at most 5,000 people (draw “spring”)"


def test_each_run_of_a_series_takes_as_many_of_those_there_are_then(project: Project) -> None:
    make_people(project, 20)
    first = make_run(project, audience=make_audience(project, rules=most(5)))
    Contact.objects.filter(project=project).delete()
    make_people(project, 40)

    second = series.repeated(first, timezone.now())
    Run.objects.filter(pk=second.pk).update(state="preparing")
    engine.advance(second.pk, now=timezone.now())

    second.refresh_from_db()
    assert (first.people, second.people) == (5, 5)
    assert first.rules != second.rules


def test_a_list_of_at_most_n_people_has_no_more_when_others_match_while_it_is_filled(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filling, "PEOPLE_AT_ONCE", 4)
    elsewhere = make_project()
    people = []
    for n in range(20):
        make_people(elsewhere, 1)
        people.append(make_contact(project, external_id=f"u{n}"))
    Contact.objects.filter(project=elsewhere).update(attributes={"plan": "pro"})
    for one in people * 2:
        make_device(one)
    fitting = [one.pk for one in people[:4]]
    Contact.objects.filter(pk__in=fitting).update(attributes={"plan": "pro"})
    made = filling.begin(project.pk, "Eight", {"all": [PRO, most(8)]})
    filling.work(made.pk, seconds=0)
    Contact.objects.filter(project=project).update(attributes={"plan": "pro"})

    filling.work(made.pk, seconds=60)

    assert made.members.count() == 8
    assert made.members.filter(contact_id__in=fitting).count() == 4


@pytest.mark.parametrize(
    ("language", "said"), [("en", "the 39th of the first 60"), ("ko", "처음 60명 중 39번째")]
)
def test_the_place_of_a_person_is_said_as_the_language_counts(language: str, said: str) -> None:
    with override(language):
        assert at_most.describe_rank({"value": {"most": 60}, "holds": True}, 39) == said
