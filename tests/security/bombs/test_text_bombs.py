"""Texts that would hold a parser or a renderer up are refused before they are parsed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from liquid import BoundTemplate
from pytest import MonkeyPatch

from campaigns.runs.reasons import Reason
from campaigns.texts import fcm_check, liquid
from campaigns.texts.recent import Recent
from campaigns.texts.template import Template
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_contact, make_device, make_template

HELLO = {"name": "Hello", "title": "Hi", "body": "there"}
BOMBS = {
    "brackets": "{{ " + "a[" * 900 + "1" + "]" * 900 + " }}",
    "brackets alone": "{{ " + "[" * 400 + "'x'" + "]" * 400 + " }}",
    "unclosed": "{{" * 1_900,
    "unclosed behind blanks": "{{" + " " * 3_900,
    "unclosed behind a word": "{%" + "a" * 3_900,
    "raw": "{% raw %}" + "{{" * 1_900,
    "raw and blanks": "{% raw %}{{" + " " * 3_900,
    "and": "{% if a" + " and a" * 600 + " %}x{% endif %}",
    "or": "{% if a" + " or a" * 150 + " %}x{% endif %}",
    "compared": "{% if a" + "<a" * 400 + " %}x{% endif %}",
    "contains": "{% if a" + " contains a" * 101 + " %}x{% endif %}",
    "not": "{% if " + "not " * 240 + "a %}x{% endif %}",
    "parentheses": "{% if " + "(" * 450 + "a" + ")" * 450 + " %}x{% endif %}",
    "a path": "{{ a" + ".a" * 1_900 + " }}",
    "filters": "{{ a" + " | escape" * 21 + " }}",
    "many tags": "{{a}}" * 101,
    "arguments": "{{ a | append: " + "a," * 900 + "a }}",
    "a range": "{% if (1..99999999999) contains 'x' %}x{% endif %}",
    "a range kept": "{% assign r = (1..9) %}{% if r contains 'x' %}x{% endif %}",
    "a range in a quote": "{{ 'a' }}{{ \"'\" | default: (1..9) }}",
    "too long": "a" * 4_001,
}
each = pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)


@pytest.fixture(autouse=True)
def forgotten() -> None:
    liquid._known.clear()
    fcm_check._known.clear()


@pytest.fixture
def parsed(monkeypatch: MonkeyPatch) -> list[str]:
    """Every text that reached Liquid's parser."""
    seen: list[str] = []
    parse = liquid._environment.from_string

    def noted(source: str) -> Any:
        seen.append(source)
        return parse(source)

    monkeypatch.setattr(liquid._environment, "from_string", noted)
    return seen


@each
def test_no_door_hands_them_to_the_parser(
    desk: Desk, caller: Caller, project: Project, parsed: list[str], bomb: str
) -> None:
    data = {f"k{number}": bomb for number in range(15)}
    refused = caller.post("templates", {**HELLO, "data": data})
    assert refused.status_code == 400
    assert set(fields_at_fault(refused)) == {"data"}
    assert caller.post("templates", {**HELLO, "body": bomb}).status_code == 400
    words = {"ios": {"subtitle": bomb}}
    assert fields_at_fault(caller.post("templates", {**HELLO, "options": words})) == ["options"]
    spoken = {"ko": {"title": bomb, "data": {"k": bomb}}}
    assert caller.post("templates", {**HELLO, "locales": spoken}).status_code == 400
    assert not Template.objects.exists()

    typed = {"project": project.pk, "title": "Hi", "body": bomb, "data": json.dumps(data)}
    assert desk.post("template_preview", **typed).status_code == 200
    made = {"template_from": "make", "title": "Hi", "body": bomb, "project": project.pk}
    assert desk.post("campaign_what", **made).status_code == 200
    assert bomb not in parsed


@pytest.mark.parametrize("bomb", [bomb for bomb in BOMBS.values() if "{" in bomb])
def test_one_that_is_in_the_table_is_shown_and_rendered_for_nobody(
    desk: Desk, caller: Caller, project: Project, parsed: list[str], bomb: str
) -> None:
    template = make_template(project, body=bomb)
    contact = make_contact(project, external_id="ada")
    make_device(contact)
    desk.open("campaigns_template_change", template.pk)
    refused = caller.post(f"templates/{template.pk}/preview", {"contact": "ada"})
    assert refused.status_code == 422
    assert refused.json()["reason"] == Reason.TEMPLATE_ERROR
    assert bomb not in parsed


@pytest.mark.parametrize(
    ("fields", "at_fault", "said"),
    [
        ({"data": {f"k{n}": "x" for n in range(101)}}, "data", "100 keys of data; there are 101"),
        ({"data": {f"k{n}": "x" for n in range(100_000)}}, "data", "there are 100,000"),
        ({"data": {f"k{n}": "x" * 3_990 for n in range(20)}}, "data", "At most 64,000 characters"),
        ({"data": {f"k{n}": "{{a}}" * 90 for n in range(12)}}, "data", "At most 1,000 tags"),
        ({"locales": {f"x{n}": {} for n in range(101)}}, "locales", "At most 100 languages"),
        ({"locales": {"ko": {"data": dict.fromkeys(map(str, range(101)), "x")}}},
         "locales", "At most 100 keys of data"),
        ({"locales": {f"a{n}": {"body": "x" * 3_990} for n in range(20)}},
         "locales", "At most 64,000 characters"),
        ({"options": {"android": {f"k{n}": [1] * 100 for n in range(1_000)}}},
         "options", "At most 64,000 characters"),
    ],
)  # fmt: skip
def test_a_template_is_measured_as_a_whole_before_any_text_of_it_is_read(
    caller: Caller, parsed: list[str], fields: Any, at_fault: str, said: str
) -> None:
    for method, path in (("POST", "templates"), ("PUT", _one(caller))):
        parsed.clear()
        refused = caller(method, path, {**HELLO, "name": "Other", **fields})
        assert refused.status_code == 400
        (error,) = refused.json()["errors"]
        assert error["field"] == at_fault
        assert said in error["message"]
        assert parsed == []


def _one(caller: Caller) -> str:
    name = f"Hello {Template.objects.count()}"
    return f"templates/{caller.post('templates', {**HELLO, 'name': name}).json()['id']}"


def test_a_template_as_large_as_any_real_one_is_saved_and_previewed(caller: Caller) -> None:
    text = "{% if plan == 'pro' and city %}{{ city | default: 'there' | upcase }}{% endif %}"
    spoken = {tag: {"title": text, "body": "x" * 500} for tag in ("ko", "de", "fr", "es", "pt-BR")}
    data = {f"key_{number}": "{{ first_name | default: 'x' }}" for number in range(20)}
    body = {**HELLO, "body": f"{text} " * 10, "data": data, "locales": spoken}
    assert caller.post("templates", body).status_code == 201


def test_the_same_text_is_parsed_once_wherever_it_stands(caller: Caller, parsed: list[str]) -> None:
    text = "{{ first_name | default: 'you' }}"
    data = {f"k{number}": text for number in range(100)}
    spoken = {tag: {"title": text} for tag in ("ko", "de", "fr")}
    assert caller.post("templates", {**HELLO, "data": data, "locales": spoken}).status_code == 201
    assert parsed.count(text) == 1


def test_a_text_that_all_languages_share_is_checked_once(
    caller: Caller, monkeypatch: MonkeyPatch
) -> None:
    rendered: list[Any] = []
    render = BoundTemplate.render

    def noted(template: Any, *given: Any, **values: Any) -> str:
        rendered.append(template)
        return render(template, *given, **values)

    monkeypatch.setattr(BoundTemplate, "render", noted)
    data = {f"k{number}": f"{number} {{{{ a | upcase }}}}" for number in range(100)}
    spoken = {tag: {"title": "Hi"} for tag in ("ko", "de", "fr", "es", "it", "nl", "pl", "ja")}
    assert caller.post("templates", {**HELLO, "data": data, "locales": spoken}).status_code == 201
    assert len(rendered) == 100


def test_what_was_parsed_is_kept_by_size() -> None:
    made: list[str] = []

    def make(text: str) -> int:
        made.append(text)
        return len(text)

    recent = Recent(make, most=3_000)
    for text in ("a" * 1_000, "b" * 1_000, "a" * 1_000, "c" * 1_000, "a" * 1_000):
        assert recent(text) == 1_000
    assert [text[0] for text in made] == ["a", "b", "c"]
    recent("b" * 1_000)  # had to go when c came
    assert len(made) == 4
    assert recent("d" * 9_000) == 9_000  # too large to be kept; it sweeps the rest out
    assert recent._size == 0
