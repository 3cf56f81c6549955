"""Each value that a text asks for: how often it is missing, empty or odd, and of whom."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.given.builders import make_campaign, make_contact, make_device
from tests.given.consent import decline
from tests.text_check.reading import found, make_reader, names, one, read, read_text

pytestmark = pytest.mark.django_db
NEEDS_CITY = {"title": "News", "body": "See you in {{ city }}"}


def test_a_value_that_is_missing_and_one_that_is_empty_are_counted_apart(project: Project) -> None:
    make_reader(project, "has", city="Seoul")
    make_reader(project, "lacks")
    make_reader(project, "null", city=None)
    make_reader(project, "empty", city="")
    report = read_text(project, **NEEDS_CITY)
    missing, empty = one(report, "missing"), one(report, "empty")
    assert (missing["devices"], names(missing)) == (2, ["lacks", "null"])
    assert (empty["devices"], names(empty)) == (1, ["empty"])
    assert missing["skips"] and empty["skips"] and missing["level"] == "wrong"
    assert report["totals"] == {
        "devices": 4, "out": 0, "skipped": 3, "sent_to": 1, "with_default": 0
    }  # fmt: skip


def test_who_lacks_a_value_that_has_a_default_gets_the_text_without_it(project: Project) -> None:
    make_reader(project, "lacks")
    make_reader(project, "has", city="Seoul")
    report = read_text(project, title="News", body="See you in {{ city | default: 'town' }}")
    missing = one(report, "missing")
    assert (missing["devices"], missing["skips"], missing["level"]) == (1, False, "note")
    assert (report["totals"]["skipped"], report["totals"]["with_default"]) == (0, 1)


ODD = {
    "blank": "  \u00a0 ",
    "markup": "<b>Ada</b>",
    "placeholder": "NULL",
    "long": "x" * 81,
    "past": (timezone.now() - timedelta(days=1)).isoformat(),
    "object": {"first": "Ada"},
}


@pytest.mark.parametrize("code", ODD)
def test_an_odd_value_is_found_with_its_person(project: Project, code: str) -> None:
    make_reader(project, "odd", v=ODD[code])
    make_reader(project, "fine", v="Ada & Bob, 2 < 3")
    odd = one(read_text(project, title="Hello {{ v }}"), code)
    assert (odd["variable"], odd["devices"], names(odd)) == ("v", 1, ["odd"])


@pytest.mark.parametrize(
    "value",
    ["Ada", "R&D", "a < b", "2999-01-01", "20240101", "2024-99-99", "x" * 80, "Testa", 7, 0, True],
)
def test_a_usual_value_is_not_called_odd(project: Project, value: object) -> None:
    make_reader(project, "fine", v=value)
    assert read_text(project, title="Hi", body="Hello {{ v }}")["findings"] == []


def test_an_entity_of_html_is_markup_too(project: Project) -> None:
    make_reader(project, "odd", v="Ada &amp; Bob")
    assert one(read_text(project, title="Hello {{ v }}"), "markup")["devices"] == 1


def test_a_value_inside_another_is_missing_only_where_it_is_not_there(project: Project) -> None:
    make_reader(project, "has", address={"city": "Seoul"})
    make_reader(project, "empty", address={"city": ""})
    make_reader(project, "null", address={"city": None})
    make_reader(project, "other", address={"street": "Main"})
    make_reader(project, "none")
    report = read_text(project, title="To {{ address.city }}")
    missing = one(report, "missing")
    assert (missing["variable"], names(missing)) == ("address.city", ["none", "other"])
    empty = one(report, "empty")
    assert (names(empty), empty["skips"]) == (["empty", "null"], False)
    assert report["totals"]["skipped"] == 2


def test_only_the_text_somebody_reads_is_asked_of_them(project: Project) -> None:
    make_reader(project, "mina", "ko")
    make_reader(project, "bob", "en")
    report = read_text(
        project, title="Hi", body="See you", locales={"ko": {"body": "{{ city }}에서 만나요"}}
    )
    missing = one(report, "missing")
    assert (names(missing), missing["texts"]) == (["mina"], ["ko"])


def test_a_value_of_one_platform_is_asked_of_its_readers_alone(project: Project) -> None:
    make_reader(project, "ann", platform="android")
    make_reader(project, "ike", platform="ios")
    report = read_text(project, title="Hi", options={"ios": {"thread_id": "{{ city }}"}})
    assert names(one(report, "missing")) == ["ike"]


def test_who_does_not_want_it_reads_nothing_and_is_counted_as_such(project: Project) -> None:
    make_reader(project, "bob", city="Seoul")
    make_reader(project, "no")
    decline(Contact.objects.get(external_id="no"))
    report = read_text(project, **NEEDS_CITY)
    assert (report["totals"]["out"], report["totals"]["sent_to"]) == (1, 1)
    assert found(report, "missing") == []


def test_a_person_of_two_devices_counts_with_both_and_one_without_counts_not(
    project: Project,
) -> None:
    device = make_reader(project, "two")
    make_device(device.contact, platform="ios")
    make_contact(project, external_id="none", attributes={})
    missing = one(read_text(project, **NEEDS_CITY), "missing")
    assert (missing["devices"], names(missing)) == (2, ["two"])


def test_three_people_are_named_and_the_rest_is_a_number(project: Project) -> None:
    for number in range(5):
        make_reader(project, f"u{number}", f"en-{number}{number}")
    missing = one(read_text(project, **NEEDS_CITY), "missing")
    assert (missing["devices"], len(missing["people"])) == (5, 3)


def test_a_text_without_variables_has_nothing_to_lack(project: Project) -> None:
    make_reader(project, "bob")
    report = read_text(project, title="Hello", body="All")
    assert report["findings"] == [] and report["totals"]["sent_to"] == 1


def test_of_more_variables_than_are_looked_at_the_rest_is_named(project: Project) -> None:
    make_reader(project, "bob")
    report = read_text(project, title="Hi", body="".join(f"{{{{ v{n} }}}}" for n in range(53)))
    rest = one(report, "not_looked_at")
    assert len(rest["variables"]) == 3 and len(found(report, "missing")) == 50


def test_only_the_audience_is_read(project: Project) -> None:
    make_reader(project, "in", "ko")
    make_reader(project, "out", "en")
    campaign = make_campaign(project, template=NEEDS_CITY)
    campaign.audience.rules = {"field": "locale", "op": "eq", "value": "ko"}
    campaign.audience.save()
    assert names(one(read(campaign), "missing")) == ["in"]
