"""The longest title and body of each text, where phones cut them off, and what is too large."""

from __future__ import annotations

from typing import Any

import pytest

from campaigns.text_check.text_needs import CUT_OFF, width
from campaigns.texts import preview
from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.given.builders import make_template
from tests.text_check.reading import found, make_reader, names, one, platforms, read_text

pytestmark = pytest.mark.django_db
VALUES = ["A", "Al", "민준", 'Ada "the" great\nand\ttabs \\', "Zoë", "🎉🎉", "ﬁn", 12, 3.50, ""]


def longest(report: dict[str, Any], text: str, platform: str) -> dict[str, Any]:
    return dict(platforms(report))[text, platform]


def test_the_longest_of_each_language_and_platform_is_who_has_it(project: Project) -> None:
    make_reader(project, "short", first_name="Al")
    make_reader(project, "long", first_name="Alexandra")
    make_reader(project, "phone", platform="ios", first_name="Bo")
    make_reader(project, "mina", "ko", first_name="민준")
    report = read_text(
        project,
        title="Hi {{ first_name }}",
        body="!",
        locales={"ko": {"title": "{{ first_name }}님"}},
    )
    by = {
        key: (one["longest"]["title"][0], Contact.objects.get(pk=one["longest"]["title"][1]))
        for key, one in platforms(report)
    }
    assert {key: (size, str(who)) for key, (size, who) in by.items()} == {
        ("", "android"): (12, "long"),
        ("", "ios"): (5, "phone"),
        ("ko", "android"): (6, "mina"),
    }


@pytest.mark.parametrize("platform", ["android", "ios", "web"])
def test_postgresql_counts_as_rendering_does(project: Project, platform: str) -> None:
    for number, value in enumerate(VALUES):
        make_reader(project, f"u{number}", platform=platform, v=value, w=value)
    texts = {
        "title": "{{ v }}: {{ w }}",
        "body": "Hello {{ v }}, {{ v }}",
        "data": {"for": "{{ w }}"},
    }
    report = read_text(project, **texts)
    template = make_template(project, **texts)
    cards = [
        preview.card(template.frozen(), person, platform=platform)
        for person in Contact.objects.filter(project=project)
    ]
    messages = [card.message for card in cards if card.message]
    held = longest(report, "", platform)
    assert held["exact"]
    assert held["longest"]["title"][0] == max(width(one.title) for one in messages)
    assert held["longest"]["body"][0] == max(width(one.body) for one in messages)
    largest = max(card.bytes_used for card in cards)
    # With the longest reference that any device of a run may have; a preview has the shortest.
    assert largest < held["longest"]["bytes"][0] < largest + 30


@pytest.mark.parametrize("platform", ["android", "ios", "web"])
def test_all_whose_title_or_body_is_cut_off_are_counted(project: Project, platform: str) -> None:
    title, body = CUT_OFF[platform]
    for number, size in enumerate((title - 1, title, title + 1, title + 2)):
        make_reader(project, f"t{number}", platform=platform, t="x" * size, b="y" * 5)
    make_reader(project, "korean", platform=platform, t="가" * (title // 2 + 1), b="y")
    make_reader(project, "body", platform=platform, t="x", b="y" * (body + 1))
    report = read_text(project, title="{{ t }}", body="{{ b }}")
    cut = one(report, "title_cut")
    assert (cut["devices"], cut["most"], cut["exact"]) == (3, title, True)
    assert cut["size"] == max(title + 2, 2 * (title // 2 + 1))
    assert one(report, "body_cut")["devices"] == 1
    assert names(one(report, "body_cut")) == ["body"]


def test_who_is_over_fcms_bytes_is_counted_on_each_platform(project: Project) -> None:
    for platform in ("android", "ios"):
        for number, size in enumerate((1_000, 1_500, 2_100)):
            make_reader(project, f"{platform}{number}", platform=platform, v='"' * size)
    report = read_text(project, title="News", body="{{ v }}", data={"again": "{{ v }}"})
    # On iOS each quote is two bytes, of JSON.
    large = {each["platform"]: each["devices"] for each in found(report, "too_large")}
    assert large == {"ios": 3, "android": 1}


def test_a_text_that_is_long_by_itself_is_cut_off_for_everybody(project: Project) -> None:
    make_reader(project, "bob")
    make_reader(project, "eve", first_name="Eve")
    report = read_text(project, title="x" * 66, body="Hello {{ first_name | default: 'you' }}")
    assert one(report, "title_cut")["devices"] == 2


def test_a_filter_makes_the_count_one_that_is_only_about_right(project: Project) -> None:
    make_reader(project, "bob", city="Seoul")
    report = read_text(project, title="{{ city | truncate: 3 }}", body="Hello")
    held = longest(report, "", "android")
    assert not held["exact"] and held["longest"]["title"][0] == 3


def test_somebody_whose_text_cannot_be_made_is_found_among_the_longest(project: Project) -> None:
    make_reader(project, "bob", points="many and many more")
    make_reader(project, "eve", points=7)
    report = read_text(project, title="{{ points | divided_by: 0 }}", body="Hello")
    refused = one(report, "refused")
    assert refused["reason"] == "template_error" and refused["exact"] is False


def test_data_that_the_link_writes_over_is_named(project: Project) -> None:
    make_reader(project, "bob")
    report = read_text(
        project, title="Hi", body="x", link="https://example.com/", data={"link": "a", "b": "c"}
    )
    assert one(report, "reserved_key")["key"] == "link"


def test_apples_own_key_in_the_data_is_lost_on_ios_alone(project: Project) -> None:
    make_reader(project, "bob")
    lost = one(read_text(project, title="Hi", body="x", data={"aps": "a"}), "reserved_key")
    assert (lost["key"], lost["platform"]) == ("aps", "ios")


def test_languages_without_a_text_of_their_own_are_counted(project: Project) -> None:
    for name, locale in (("a", "fr"), ("b", "fr"), ("c", "ko-KR"), ("d", "")):
        make_reader(project, name, locale)
    report = read_text(project, title="Hi", body="x", locales={"ko": {"title": "안녕"}})
    note = one(report, "no_text")
    assert (note["devices"], note["locales"], note["level"]) == (3, [["fr", 2], ["", 1]], "note")


def test_a_template_of_one_language_lacks_no_text(project: Project) -> None:
    make_reader(project, "a", "fr")
    assert found(read_text(project, title="Hi", body="x"), "no_text") == []
