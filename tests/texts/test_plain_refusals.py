"""Why somebody gets no push is said in words, with no Python in them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from campaigns.audiences.behavior import past
from campaigns.sending.judge_answers import unsent
from campaigns.texts.rendering import Reader, Unrenderable, render

CONTENT = {"title": "Hi", "image": "", "link": "", "data": {}, "locales": {}, "options": {}}


def refusal(body: str, **attributes: Any) -> str:
    reader = Reader("0:0", "u1", attributes, "en", "UTC", "token", "live:APA91b", "android")
    with pytest.raises(Unrenderable) as refused:
        render({**CONTENT, "body": body}, reader, collapse_id="c", ttl_seconds=60)
    return refused.value.detail


@pytest.mark.parametrize(
    ("body", "attributes", "words"),
    [
        ("{{ city }}", {}, "“city” is missing"),
        ("{{ order.id }}", {"order": {}}, "“order.id” is missing"),
        ("{{ tags[0] }}", {"tags": []}, "a list has fewer values than the text asks for"),
        ("Hi {{ n | divided_by: 0 }}", {"n": 3}, "{{ n | divided_by: 0 }}: it divides by zero"),
        (
            "{% if n > 3 %}x{% endif %}",
            {"n": "many"},
            "{% if n > 3 %}: it compares values of different types",
        ),
        (
            "{{ n | truncate: 'x' }}",
            {"n": "abc"},
            "{{ n | truncate: 'x' }}: a number is needed there",
        ),
    ],
)
def test_a_text_that_does_not_fit_a_person_says_why_in_words(
    body: str, attributes: dict[str, Any], words: str
) -> None:
    assert refusal(body, **attributes) == words


@pytest.mark.parametrize("body", ["order {{ order }}", "{{ order | upcase }}", "{{ all[0] }}"])
def test_nobody_reads_an_object_as_python_writes_it(body: str) -> None:
    order = {"id": "A1"}
    said = refusal(body, order=order, all=[order])
    assert "holds several values; ask for one of them" in said and "'" not in said


@pytest.mark.parametrize(("body", "name"), [("{{ city }}", "city"), ("{{ order.id }}", "order.id")])
def test_a_row_keeps_the_value_that_is_missing_in_the_form_that_rules_look_for(
    body: str, name: str
) -> None:
    reader = Reader("0:0", "u1", {"order": {}}, "en", "UTC", "token", "live:APA91b", "android")
    with pytest.raises(Unrenderable) as refused:
        render({**CONTENT, "body": body}, reader, collapse_id="c", ttl_seconds=60)
    left: Any = SimpleNamespace(ambiguous=False, copies=0)
    assert unsent(left, refused.value).detail == past.missing(name)
