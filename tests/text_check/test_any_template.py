"""Whatever a template asks for: the check counts as rendering everybody would."""

from __future__ import annotations

from typing import Any

import pytest

from campaigns.runs.reasons import Reason
from campaigns.text_check.text_needs import width
from campaigns.texts import preview
from notifications.people.device import Device
from notifications.people.project import Project
from tests.given.builders import make_campaign, make_snippet, make_template
from tests.text_check.reading import found, make_reader, read

pytestmark = pytest.mark.django_db
TEMPLATES: list[dict[str, Any]] = [
    {"title": "{{ external_id }} {{ locale }} {{ timezone }}", "body": "x"},
    {"title": "{{ tags[0] }}", "body": "{{ tags.first | default: 'none' }}"},
    {"title": "{{ a['b c'] }}{{ address.city }}", "body": "100 % of {{ n }}"},
    {"title": "{% if n %}{{ n }}{% else %}none{% endif %}", "body": "{{ address.city | upcase }}"},
    {"title": "Hi", "body": "{{ n }}", "link": "https://example.com/{{ external_id }}"},
    {"title": "Hi", "body": "x", "image": "https://example.com/{{ n }}.png"},
    {"title": "Hi", "body": "x", "data": {"n": "{{ n }}"},
     "options": {"ios": {"data": {"a": "b"}}}},
    {"title": "Hi {{ name }}", "body": "{{ n }}", "options": {"android": {"data_only": True}}},
    {"title": "{{ snippet.footer }} {{ n }}", "body": "x", "locales": {"pt-BR": {"title": "Oi"}}},
    {"title": "{{ n | number }} {{ n | plus: 1 }}", "body": "{{ when | date: '%d %B' }}"},
    {"title": "x", "body": "".join(f"{{{{ v{n} }}}}" for n in range(60))},
    {"title": "{{ '%s' }}{{ n }}", "body": "50% {{ name }} %(x)s %%"},
]  # fmt: skip


def make_readers(project: Project) -> None:
    make_snippet(project, "footer", "Shop", ko="샵")
    whole = {"n": 7, "name": "Ada", "tags": ["a", "b"], "a": {"b c": "d"}, "when": "2999-01-01"}
    whole |= {f"v{n}": "v" for n in range(60)}
    for number, (locale, platform) in enumerate(
        (locale, platform)
        for locale in ("en", "ko-KR", "pt_BR", "")
        for platform in Device.Platform.values
    ):
        make_reader(project, f"a{number}", locale, platform, address={"city": "Seoul"}, **whole)
        make_reader(project, f"b{number}", locale, platform, n=None, tags=[], address={})
        make_reader(project, f"c{number}", locale, platform, address="x", **{**whole, "n": "many"})


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda one: one["title"][:30])
def test_the_skipped_and_the_longest_are_those_of_rendering_everybody(
    project: Project, template: dict[str, Any]
) -> None:
    make_readers(project)
    made = make_template(project, **template)
    made.clean()
    report = read(make_campaign(project, template=made))
    content = made.frozen()
    cards = [
        preview.card(content, device.contact, platform=device.platform)
        for device in Device.objects.filter(project=project).select_related("contact")
    ]
    lacking = str(Reason.MISSING_VALUE.label)
    skipped = sum(card.refusal == lacking for card in cards)
    if report["exact"] and not found(report, "not_looked_at"):
        assert report["totals"]["skipped"] == skipped
    longest = max((width(card.message.title) for card in cards if card.message), default=None)
    told = [each["longest"]["title"] for text in report["texts"] for each in text["platforms"]]
    assert max((one[0] for one in told if one), default=None) == longest
