"""What a snippet may hold and where a text may mention one; nothing odd comes of the two."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.texts import liquid
from campaigns.texts.content import in_language
from campaigns.texts.snippets import validation
from notifications.people.project import Project
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_snippet, make_template

FOOTER = {"name": "footer", "text": "Shop Ltd."}


@pytest.mark.parametrize(
    ("wrong", "field", "words"),
    [
        ({"name": "Footer"}, "name", "small letters"),
        ({"name": "2nd"}, "name", "small letters"),
        ({"text": ""}, "text", "not be empty"),
        ({"text": "x" * 1_001}, "text", "1000 characters"),
        ({"text": "{{ first_name"}, "text", "never closed"),
        ({"text": "{{ first_name | uper }}"}, "text", "no filter “uper”"),
        ({"text": "{{ snippet.brand }}"}, "text", "no other snippet"),
        ({"text": "{% if vip %}Hi{% endif %}"}, "text", "no conditions"),
        ({"text": "{% raw %}{{ x }}{% endraw %}"}, "text", "no conditions"),
        ({"text": "a { b"}, "text", "a single “{”"),
        ({"text": "b }} c"}, "text", "a single “}”"),
        ({"text": "{{ a }} " * 21}, "text", "at most 20 values"),
        ({"locales": {"korean!": {"text": "x"}}}, "locales", "language tag"),
        ({"locales": {"ko": {"body": "x"}}}, "locales", '{"text": "…"}'),
        ({"locales": {"ko": {"text": "{{ snippet.brand }}"}}}, "locales", "no other snippet"),
        ({"locales": {"pt-BR": {"text": "x"}, "pt_br": {"text": "y"}}}, "locales", "same language"),
    ],
)
def test_a_snippet_that_could_not_be_said_is_refused_by_its_field(
    project: Project, wrong: dict[str, Any], field: str, words: str
) -> None:
    answer = Caller(project).post("snippets", {**FOOTER, **wrong})
    assert answer.status_code == 400
    assert fields_at_fault(answer) == [field]
    assert words in answer.json()["errors"][0]["message"]


@pytest.mark.parametrize(
    ("wrong", "field", "words"),
    [
        ({"body": "{{ snippet.foter }}"}, "body", "Did you mean “footer”?"),
        ({"body": "{{ snippet.zzz }}"}, "body", "Use one of brand, footer."),
        ({"body": "{{ snippet.footer | upcase }}"}, "body", "stands by itself"),
        ({"body": "{% if snippet.footer %}x{% endif %}"}, "body", "stands by itself"),
        ({"body": "{{ snippet }}"}, "body", "stands by itself"),
        ({"body": "{% raw %}{{ snippet.footer }}{% endraw %}"}, "body", "stands by itself"),
        ({"body": "{{ x | default: snippet.footer }}"}, "body", "stands by itself"),
        ({"body": "{{{ snippet.footer }}"}, "body", ""),
        ({"link": "https://example.com/{{ snippet.footer }}"}, "link", "the body and the data"),
        ({"image": "https://example.com/{{ snippet.footer }}"}, "image", "the body and the data"),
        ({"options": {"android": {"tag": "{{ snippet.footer }}"}}}, "options", "and the data"),
        ({"data": {"a": "{{ snippet.foter }}"}}, "data", "Did you mean “footer”?"),
        ({"locales": {"ko": {"body": "{{ snippet.foter }}"}}}, "locales", "Did you mean"),
        ({"body": "{{ snippet.footer }}" * 90 + "x" * 2_000}, "body", "longer than 4,000"),
    ],
)
def test_a_text_that_mentions_a_snippet_wrongly_is_refused_by_its_field(
    project: Project, wrong: dict[str, Any], field: str, words: str
) -> None:
    make_snippet(project, "footer", "Shop Ltd, 5 Long Street, Seoul")
    make_snippet(project, "brand", "Shop")
    answer = Caller(project).post("templates", {"name": "A", "title": "A", "body": "B", **wrong})
    assert answer.status_code == 400, answer.content
    assert set(fields_at_fault(answer)) == {field}
    assert words in answer.content.decode().replace('\\"', '"')


def test_a_mistake_is_shown_with_its_place(project: Project) -> None:
    make_snippet(project, "footer", "Shop")
    said = {"name": "A", "title": "A", "body": "One\nand {{ snippet.foter }}"}
    answer = Caller(project).post("templates", said)
    assert "line 2, column 16" in answer.content.decode()


BRACES = st.text(alphabet="{}% ax'\"|-#\n", max_size=12)
SAID = BRACES.filter(bool)


@given(before=BRACES, after=BRACES, said=SAID)
def test_nothing_comes_of_a_snippet_and_the_text_around_it_that_neither_said(
    before: str, after: str, said: str
) -> None:
    """With the snippet in, a text asks for what both asked for alone, or it is refused."""
    source = f"{before}{{{{ snippet.s }}}}{after}"
    if validation.of_snippet(said) or liquid.problems(source):
        return
    if validation.of_mentions(source, {"s"}):
        return
    snippets = {"s": {"text": said, "locales": {}}}
    content = {"title": source, "body": "", "image": "", "link": "", "data": {}, "locales": {}}
    filled = in_language({**content, "snippets": snippets}, "")["title"]
    if liquid.problems(filled):
        return
    asked = liquid.variables(source) - {"snippet"}
    assert liquid.variables(filled) == asked | liquid.variables(said)
    plain = dict.fromkeys(liquid.variables(filled), "1")
    alone = liquid.parse(said).render(**plain)
    around = liquid.parse(source).render(**plain, snippet={"s": alone})
    assert liquid.parse(filled).render(**plain) == around


def test_a_snippet_is_not_saved_when_a_template_could_not_be_sent_with_it(
    project: Project,
) -> None:
    snippet = make_snippet(project, "footer", "Shop")
    make_template(project, name="Long", title="A", body="x" * 3_500 + "{{ snippet.footer }}")
    answer = Caller(project).patch(f"snippets/{snippet.pk}", {"text": "y" * 900})
    assert (answer.status_code, fields_at_fault(answer)) == (400, ["text"])
    assert "“Long” could not be sent with it" in answer.content.decode()
    snippet.refresh_from_db()
    assert snippet.text == "Shop"
